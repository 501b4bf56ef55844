import { z } from 'zod';

/** How the client learns the result. The mode is data; only the gateway and the dispatcher read
 * it. */
export const Delivery = z.discriminatedUnion('mode', [
  /** `replyChannel` is the Redis channel of the gateway process that waits. */
  z.object({ mode: z.literal('sync'), replyChannel: z.string() }),
  z.object({ mode: z.literal('poll') }),
  z.object({ mode: z.literal('webhook'), callbackUrl: z.string() }),
]);
export type Delivery = z.infer<typeof Delivery>;
