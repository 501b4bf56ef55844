import { DAY_MS } from '#shared/contracts/durations.ts';
import { ServiceError } from '#shared/errors.ts';
import type { AccountBytes } from '#shared/fairness/account-bytes.ts';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import type { Throttle } from '#shared/fairness/throttle.ts';
import { FAILED_MAX } from './deliveries.ts';
import type { ResendWebhooks } from './resend-webhooks.ts';

/** A bulk resend publishes up to 100 000 messages. */
const BULK_RESENDS = { name: 'resend-failed', countMax: 6, windowMs: 60_000 } as const;
/** Bulk resends at a time in a process, of all accounts. */
const BULK_RESENDS_AT_ONCE_MAX = 4;
const BULK_RESENDS_WAITING_MAX = 64;
/** Three times the longest list of failed webhooks. Webhooks that are answered 410 are in that list
 * again at once. */
const RESENT_WEBHOOKS = {
  name: 'resent-webhooks',
  countMax: 3 * FAILED_MAX,
  windowMs: DAY_MS,
} as const;

type Dependencies = {
  readonly resends: Pick<ResendWebhooks, 'resendFailed'>;
  readonly throttle: Pick<Throttle, 'take' | 'refund'>;
  readonly requireRoom: AccountBytes['requireRoom'];
};

/** Epoch ms, both included. */
type Period = { readonly sinceMs: number; readonly untilMs?: number };

/**
 * Sends the failed webhooks of an app again, within the bounds that portal and API share: six
 * requests a minute and 300 000 webhooks a day of an app; accounts take turns.
 *
 * @example
 * const bulkResends = makeBulkResends({ resends, throttle, requireRoom });
 * await bulkResends.take('app_1');
 * await bulkResends.send({ accountId: 'acc_1', clientId: 'app_1' }, { sinceMs, untilMs }); // { count: 2 }
 */
export function makeBulkResends({ resends, throttle, requireRoom }: Dependencies) {
  const queue = new FairTaskQueue({
    atOnceMax: BULK_RESENDS_AT_ONCE_MAX,
    waitingMax: BULK_RESENDS_WAITING_MAX,
    refusal: 'too many resends are waiting',
  });

  const chargeResent = async (clientId: string, count: number): Promise<void> => {
    try {
      await throttle.take([{ budget: RESENT_WEBHOOKS, owner: clientId, count }]);
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'rate-limited')) throw error;
      throw new ServiceError('rate-limited', tooManyResent(count), {
        ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
      });
    }
  };

  /** Refunds the charges of webhooks that were not sent. */
  const send = async (clientId: string, { sinceMs, untilMs }: Period): Promise<{ count: number }> => {
    let unsentCount = 0;
    try {
      const sent = await resends.resendFailed(clientId, sinceMs, {
        ...(untilMs !== undefined && { untilMs }),
        async charge(count) {
          await chargeResent(clientId, count);
          unsentCount = count;
        },
        requireRoom: () => requireRoom(clientId),
      });
      unsentCount -= sent.count;
      return sent;
    } catch (error) {
      // After another error, some may have been sent.
      if (!(error instanceof ServiceError && error.code === 'bytes-exceeded')) unsentCount = 0;
      throw error;
    } finally {
      const refunded = { budget: RESENT_WEBHOOKS, owner: clientId, count: unsentCount };
      // The webhooks are sent: a refund that fails must not make the client send them again.
      if (unsentCount > 0) await throttle.refund([refunded]).catch(() => undefined);
    }
  };

  return {
    /** Counts one request. @throws ServiceError `rate-limited` */
    take: (clientId: string): Promise<void> => throttle.take([{ budget: BULK_RESENDS, owner: clientId }]),
    /** Counts a webhook that is resent by itself. @throws ServiceError `rate-limited` */
    takeOne: (clientId: string): Promise<void> =>
      throttle.take([{ budget: RESENT_WEBHOOKS, owner: clientId }]),
    /**
     * Sends the webhooks that were exhausted or stopped in the period.
     *
     * @throws ServiceError `rate-limited`, with the number in its message: none is sent;
     *   `bytes-exceeded`, `overloaded`, and the errors of a resend
     */
    send: (
      { accountId, clientId }: { readonly accountId: string; readonly clientId: string },
      period: Period,
    ): Promise<{ count: number }> => queue.run(accountId, () => send(clientId, period)),
  };
}

export type BulkResends = ReturnType<typeof makeBulkResends>;

/** None of the webhooks is sent. */
const tooManyResent = (count: number): string =>
  `an app resends at most ${RESENT_WEBHOOKS.countMax} failed webhooks in 24 hours; with these ${count} it would be more. Choose a later start, or try again later`;
