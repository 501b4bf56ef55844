import { z } from 'zod';

/** A chain for trying things out, with wallets and tokens that examples name. */
export const DemoChain = z.object({
  chainId: z.number().int().positive(),
  /** A wallet with tokens of each of the contracts. */
  holder: z.string(),
  /** A wallet without any. */
  stranger: z.string(),
  erc20: z.string(),
  erc721: z.string(),
  erc1155: z.string(),
});
export type DemoChain = z.infer<typeof DemoChain>;
