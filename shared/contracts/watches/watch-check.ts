import { z } from 'zod';
import { BlockNumbers } from '../rules/rule.ts';

/** By chain id in decimal, names of endpoints as logs have them. */
export const EndpointNames = z.record(z.string(), z.array(z.string()));
export type EndpointNames = z.infer<typeof EndpointNames>;

export const CheckCause = z.enum(['transfer', 'schedule', 'rule-set']);
export type CheckCause = z.infer<typeof CheckCause>;

/** The event that caused a check. */
export const Transfer = z
  .object({
    chainId: z.number().int().positive(),
    /** In lower case. */
    contractAddress: z.string(),
    blockNumber: z.number().int().nonnegative(),
    transactionHash: z.string(),
    logIndex: z.number().int().nonnegative(),
  })
  .meta({ id: 'Transfer' });
export type Transfer = z.infer<typeof Transfer>;

export const Why = z.object({
  cause: CheckCause,
  /** The newest event that caused the check, if one did, and no reorg has dropped it. */
  transfer: Transfer.optional(),
});
export type Why = z.infer<typeof Why>;

/** A part of checks of members: the watcher's fields, which come back with the results. */
export const WatchCheck = z.object({
  watchUid: z.string(),
  why: Why,
  /** The stamp of the checks: by which rules, under which block tag (`rulesStampOf`) … */
  rules: z.string(),
  /** … and of each entry, when its wallets were set, epoch ms. */
  walletTimes: z.array(z.number().int().nonnegative()),
  /** By chain id, the least block that the members were owed. */
  owed: BlockNumbers,
  sweep: z.number().int().nonnegative().optional(),
  /** Of a scheduled sweep: unread members are left to the next one. */
  forgives: z.boolean().optional(),
});
export type WatchCheck = z.infer<typeof WatchCheck>;
