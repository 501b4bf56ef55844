import { z } from 'zod';

/** The token standards that a rule can ask for. Any other is refused at the edge, never judged. */
export const RuleType = z.enum(['ERC20', 'ERC721', 'ERC1155', 'NATIVE']);
export type RuleType = z.infer<typeof RuleType>;

/** What to do with a rule that nobody could read. */
export const OnUndetermined = z.enum(['omit', 'deny', 'fail']);
export type OnUndetermined = z.infer<typeof OnUndetermined>;

export const BlockTag = z.enum(['latest', 'safe', 'finalized']);
export type BlockTag = z.infer<typeof BlockTag>;

/**
 * One rule as it travels: validated by the gateway, amounts still decimal text in whole tokens
 * (only the contract knows its decimals), addresses as the client wrote them.
 */
export const Rule = z.object({
  type: RuleType,
  chainId: z.number().int().positive(),
  /** Absent for `NATIVE` alone. */
  contractAddress: z.string().optional(),
  roleId: z.string(),
  minToken: z.string(),
  maxToken: z.string().optional(),
  /** Ids and ranges, for example `1,2,42-69`. */
  tokenId: z.string().optional(),
});
export type Rule = z.infer<typeof Rule>;

export const Consistency = z.object({
  blockTag: BlockTag.default('latest'),
  /** By chain id in decimal: every read of that chain is at this block or later. */
  minBlock: z.record(z.string(), z.number().int().nonnegative()).default({}),
});
export type Consistency = z.infer<typeof Consistency>;
