import { inStore, type Redis } from './connect.ts';

/** What a process hears on its subscription connection. */
export type Subscription = {
  /** Called with each message of the channel, and never before it was subscribed. */
  readonly onMessage: (message: string) => void;
  /** Called when the connection came back: messages in between are lost. */
  readonly onGap: () => void;
};

/**
 * Subscribes to a channel for the life of the connection; ioredis subscribes again after a reconnect.
 *
 * @example
 * await subscribe(await connection.subscriber(), 'client-app:changed', { onMessage: forget, onGap: forgetAll });
 */
export async function subscribe(
  subscriber: Redis,
  channel: string,
  subscription: Subscription,
): Promise<void> {
  subscriber.on('message', (from: string, message: string) => {
    if (from === channel) subscription.onMessage(message);
  });
  // `ready` comes just before the resubscription is confirmed: what falls between the two is what callers re-read for.
  subscriber.on('ready', () => subscription.onGap());
  await inStore(async () => void (await subscriber.subscribe(channel)));
}
