import { inStore, type Redis } from './connect.ts';

/** The events on the subscription connection of a process. */
type Subscription = {
  /** Called with each message of the channel, and never before it was subscribed. */
  readonly onMessage: (message: string) => void;
  /** Called when the connection came back: messages in between are lost. */
  readonly onGap: () => void;
};

/**
 * Subscribes to a channel of the system for the life of the connection; ioredis subscribes again
 * after a reconnect.
 */
export async function subscribe(
  subscriber: Redis,
  channel: string,
  subscription: Subscription,
): Promise<void> {
  const ofSystem = `${subscriber.options.keyPrefix ?? ''}${channel}`;
  subscriber.on('message', (from: string, message: string) => {
    if (from === ofSystem) subscription.onMessage(message);
  });
  // `ready` comes just before the resubscription is confirmed: callers re-read because a notice may
  // fall between the two.
  subscriber.on('ready', () => subscription.onGap());
  await inStore(async () => void (await subscriber.subscribe(ofSystem)));
}
