import { z } from 'zod';

/** How long a nonce can be used after it was issued. */
export const NONCE_MS = 600_000;
export const SIGN_INS_MAX = 16;
export const SIGNATURE_BYTES_MAX = 4_096;

export const WalletSignIn = z.object({
  /** As the client wrote it. */
  account: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
  /** The chain whose contract is asked, if the account is one. */
  chainId: z.number().int().positive(),
  /** The EIP-191 hash of the message, which the signature is over: `0x` and 64 hex digits. */
  hash: z.string().regex(/^0x[0-9a-f]{64}$/),
  /** `0x` and hex, lower case. */
  signature: z
    .string()
    .max(2 + 2 * SIGNATURE_BYTES_MAX)
    .regex(/^0x(?:[0-9a-f]{2})*$/),
});
export type WalletSignIn = z.infer<typeof WalletSignIn>;

/** The sign-ins of one check, whose messages were judged when it was accepted. */
export const SignInRequest = z.object({
  /** The domain and the nonce of all messages. */
  domain: z.string(),
  nonce: z.string(),
  wallets: z.array(WalletSignIn).min(1).max(SIGN_INS_MAX),
});
export type SignInRequest = z.infer<typeof SignInRequest>;
