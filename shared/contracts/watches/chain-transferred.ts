import { z } from 'zod';
import { BlockTag } from '../rules/rule.ts';
import { defineTopic } from '../topic.ts';

/** A transfer on a followed contract that named a wallet of a member, or a reorg that dropped
 * one. */
export const ChainTransferred = z.object({
  chainId: z.number().int().positive(),
  /** In lower case, as the account. */
  contractAddress: z.string(),
  /**
   * Absent: events of the contract may have been missed, because its logs could not be read for too
   * long. Every member of the watches that follow the contract is due.
   */
  account: z.string().optional(),
  /**
   * Which block has reached the transfer. It concerns the watches with this block tag alone: a
   * transfer is published once for each block tag that a watch of its contract has, when that block
   * is there.
   */
  blockTag: BlockTag.default('latest'),
  /** The event's block; of a dropped event the first block that is gone; without an account the
   * block of the tag. */
  blockNumber: z.number().int().nonnegative(),
  /** A reorg took the event away. */
  dropped: z.boolean(),
  /** Of an event that is there: the transaction and the position of its log in the block. */
  transactionHash: z.string().optional(),
  logIndex: z.number().int().nonnegative().optional(),
  at: z.iso.datetime(),
});
export type ChainTransferred = z.infer<typeof ChainTransferred>;

export const chainTransferred = defineTopic({
  name: 'chain.transferred.v1',
  schema: ChainTransferred,
  keyOf: ({ account, contractAddress }) => account ?? contractAddress,
  partitionCount: 24,
  retention: 'checks',
});
