import { z } from 'zod';

const BlockTags = z.array(z.enum(['latest', 'safe', 'finalized']));

/** What one RPC endpoint can do and cannot do. What could not be found out is `null`. */
export const EndpointReport = z.object({
  chainId: z.number().int().positive(),
  /** Its position among the chain's endpoints in the chain file, from 0. */
  endpoint: z.number().int().nonnegative(),
  name: z.string().optional(),
  /** Whether it answered any call. */
  reachable: z.boolean(),
  chainIdMatches: z.boolean().nullable(),
  /** How old its newest block is, by this host's clock. */
  headAgeMs: z.number().int().nullable(),
  tags: BlockTags,
  /** Whether it has the state of a block in the middle of the chain's history. */
  archive: z.boolean().nullable(),
  /** The most blocks of one `eth_getLogs` that it answered; 0 if it serves no logs. */
  logRange: z.number().int().nonnegative().nullable(),
  /** The most reads of one call that it answered. */
  batchLimit: z.number().int().nonnegative().nullable(),
  method: z.enum(['reader', 'multicall3', 'plain']).nullable(),
  /** Whether the call that reads balances proves its block. */
  proved: z.boolean().nullable(),
  /** Whether it identifies the state that was read as that of the block. */
  state: z.boolean().nullable(),
  /** Sentences for the operator, each with the place in the chain file; none if all is well. */
  problems: z.array(z.string()),
});
export type EndpointReport = z.infer<typeof EndpointReport>;
