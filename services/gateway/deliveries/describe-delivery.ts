import { QUOTA_ALERT_PREFIX } from '#shared/contracts/usage/quota-alert.ts';
import { watchEventType } from '#shared/contracts/watches/watch-event.ts';
import { TEST_EVENT_PREFIX } from '#shared/contracts/webhooks/test-event.ts';
import type { RequestIds } from '../checks/request-ids.ts';

export const DELIVERY_TYPES = [
  'check.completed',
  'batch.completed',
  'roles.changed',
  'watch.held',
  'watch.stalled',
  'watch.recovered',
  'quota.threshold',
  'test',
] as const;

type Described = {
  readonly type: (typeof DELIVERY_TYPES)[number];
  /** Of a check or a batch. */
  readonly requestId?: string;
};

/** What the message of a delivery is about, by its id alone: its body may have ended. */
export function describeDelivery(
  requestId: string,
  clientId: string,
  { readId }: Pick<RequestIds, 'readId'>,
): Described {
  const issued = readId(requestId, clientId);
  if (issued) return { type: issued.lane === 'batch' ? 'batch.completed' : 'check.completed', requestId };
  const type = watchEventType(requestId);
  if (type) return { type };
  if (requestId.startsWith(QUOTA_ALERT_PREFIX)) return { type: 'quota.threshold' };
  if (requestId.startsWith(TEST_EVENT_PREFIX)) return { type: 'test' };
  // Issued under a key that is no longer configured.
  return { type: 'check.completed', requestId };
}

/** The watch of an event, out of the beginning of its body; undefined if it is no longer kept. */
export const watchIdOf = (bodyHead: string): string | undefined =>
  /^\{"type":"[a-z.]+","watchId":"([^"]+)"/.exec(bodyHead)?.[1];
