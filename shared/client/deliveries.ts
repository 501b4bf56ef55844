import { DELIVERIES_PATH } from '../contracts/paths.ts';
import type { Delivery, DeliveryWithAttempts, ResendCount } from './api-types.ts';
import { segmentOf } from './documents.ts';
import { readPages } from './http/pages.ts';
import type { CallOptions, Transport } from './http/transport.ts';

export type ListDeliveriesOptions = CallOptions & {
  /** Only deliveries in this state. */
  readonly state?: Delivery['state'] | undefined;
};

/** A `webhookId` is the `webhook-id` header of the message. */
export type Deliveries = ReturnType<typeof makeDeliveries>;

export function makeDeliveries(transport: Transport) {
  const pathOf = (webhookId: string) => `${DELIVERIES_PATH}/${segmentOf(webhookId)}`;
  return {
    /** The newest 10 000 deliveries, newest first. */
    list: ({ state, ...options }: ListDeliveriesOptions = {}): AsyncGenerator<Delivery, void> =>
      readPages(transport, DELIVERIES_PATH, 'deliveries', options, state === undefined ? {} : { state }),
    /** A delivery with its attempts. */
    get: async (webhookId: string, options: CallOptions = {}): Promise<DeliveryWithAttempts> =>
      transport.ask({ method: 'GET', path: pathOf(webhookId), ...options }),
    /** Sends a webhook again: the same bytes and the same id. `delivery-pending` if it has not
     * ended. */
    async resend(webhookId: string, options: CallOptions = {}): Promise<void> {
      // A webhook that was sent and has ended meanwhile would be sent once more.
      const request = { path: `${pathOf(webhookId)}/resend`, isRepeatable: false };
      await transport.send({ method: 'POST', ...request, ...options });
    },
    /** Sends all webhooks again that were exhausted, or stopped by a 410, since then. The answer
     * may take minutes for tens of thousands: give it a `timeoutMs`. */
    resendFailed: async (since: Date | string, options: CallOptions = {}): Promise<ResendCount> =>
      transport.ask<ResendCount>(
        {
          method: 'POST',
          path: `${DELIVERIES_PATH}/resend-failed`,
          body: { since: typeof since === 'string' ? since : since.toISOString() },
          isRepeatable: false,
          // One attempt has all the time.
          attemptMs: options.timeoutMs ?? transport.timeoutMs,
          ...options,
        },
        { count: 'number' },
      ),
  };
}
