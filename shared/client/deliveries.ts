import type { Delivery, DeliveryWithAttempts } from './api-types.ts';
import { segmentOf } from './documents.ts';
import { readPages } from './http/pages.ts';
import { type CallOptions, parseAnswer, type Transport, unexpectedAnswer } from './http/transport.ts';

const DELIVERIES_PATH = '/access-control/deliveries';

export type ListDeliveriesOptions = CallOptions & {
  /** Only deliveries in this state. */
  readonly state?: Delivery['state'] | undefined;
};

/** A `webhookId` is the `webhook-id` header of the message. */
export type Deliveries = {
  /** The newest 10 000 deliveries, newest first. */
  readonly list: (options?: ListDeliveriesOptions) => AsyncGenerator<Delivery, void>;
  /** A delivery with its attempts. */
  readonly get: (webhookId: string, options?: CallOptions) => Promise<DeliveryWithAttempts>;
  /** Sends a webhook again: the same bytes and the same id. `delivery-pending` if it has not
   * ended. */
  readonly resend: (webhookId: string, options?: CallOptions) => Promise<void>;
  /** Sends all webhooks again that were exhausted, or stopped by a 410, since then. The answer may
   * take minutes for tens of thousands: give it a `timeoutMs`. */
  readonly resendFailed: (since: Date | string, options?: CallOptions) => Promise<{ readonly count: number }>;
};

export function makeDeliveries(transport: Transport): Deliveries {
  const pathOf = (webhookId: string) => `${DELIVERIES_PATH}/${segmentOf(webhookId)}`;
  return {
    list: ({ state, ...options } = {}) =>
      readPages<Delivery>(
        transport,
        DELIVERIES_PATH,
        'deliveries',
        options,
        state === undefined ? {} : { state },
      ),
    get: async (webhookId, options = {}) => {
      const answer = await transport.send({ method: 'GET', path: pathOf(webhookId), ...options });
      return parseAnswer(answer) as unknown as DeliveryWithAttempts;
    },
    resend: async (webhookId, options = {}) => {
      // A webhook that was sent and has ended meanwhile would be sent once more.
      const request = { path: `${pathOf(webhookId)}/resend`, isRepeatable: false };
      await transport.send({ method: 'POST', ...request, ...options });
    },
    resendFailed: async (since, options = {}) => {
      const { count } = parseAnswer(
        await transport.send({
          method: 'POST',
          path: `${DELIVERIES_PATH}/resend-failed`,
          body: { since: typeof since === 'string' ? since : since.toISOString() },
          isRepeatable: false,
          // One attempt has all the time.
          attemptMs: options.timeoutMs ?? transport.timeoutMs,
          ...options,
        }),
      );
      if (typeof count !== 'number') throw unexpectedAnswer('The answer has no count.');
      return { count };
    },
  };
}
