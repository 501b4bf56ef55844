import { z } from 'zod';
import { PROOF_ALGS } from '#shared/contracts/checks/proof-claims.ts';
import { BlockTag, OnUndetermined } from '#shared/contracts/rules/rule.ts';
import { SIGN_INS_MAX } from '#shared/contracts/sign-in/sign-in-request.ts';
import { Address, CallbackUrl } from '#shared/rules/body-texts.ts';
import { RuleBodies } from '#shared/rules/rule-body.ts';

/** The request body. It is strict: a typo must be an error and never a silent default. */

const ACCOUNTS_MAX = 16;
const VAULTS_MAX = 16;
const PROOF_SECONDS = { min: 30, max: 86_400 } as const;

/** By chain id. */
const BlockNumbers = z.record(z.string().regex(/^[1-9][0-9]{0,15}$/), z.number().int().nonnegative());

export const ConsistencyBody = z
  .strictObject({
    blockTag: BlockTag.optional(),
    minBlock: BlockNumbers.optional().meta({
      description: 'By chain id: every read of that chain is at this block or later.',
      example: { '1': 21_000_000 },
    }),
    atBlock: BlockNumbers.optional().meta({
      description:
        'By chain id: every read of that chain is at exactly this block. Not together with `blockTag`, or with ' +
        '`minBlock` of the same chain.',
      example: { '1': 21_000_000 },
    }),
  })
  .meta({ id: 'Consistency' });

/** The wallets of one person: `account` or `accounts`. */
export const wallets = {
  account: Address.optional(),
  accounts: z.array(Address).min(1).max(ACCOUNTS_MAX).optional().meta({
    uniqueItems: true,
    description: 'Instead of `account`: distinct wallets of one person, whose holdings count together.',
  }),
  vaults: z
    .array(Address)
    .max(VAULTS_MAX)
    .optional()
    .meta({
      description:
        'Wallets that have delegated to the account in the delegate.xyz v2 registry. A vault counts for the tokens that ' +
        'its delegation covers.',
    }),
};

const proof = {
  proof: z.boolean().optional().meta({ description: '`true` adds a signed verdict to the result.' }),
  proofSeconds: z.number().int().min(PROOF_SECONDS.min).max(PROOF_SECONDS.max).optional().meta({
    description:
      'How long a signed verdict is valid, only with `proof`. Default 300 for a sync check, otherwise 3600.',
  }),
  proofAlg: z
    .enum(PROOF_ALGS)
    .optional()
    .meta({
      description:
        'How a signed verdict is signed, only with `proof`: `EdDSA` (Ed25519, the default), or `ES256` (P-256), which API ' +
        'gateways and older JWT libraries accept.',
    }),
};

/** Proofs that the caller controls wallets. The texts themselves are judged by `validateSignIn`. */
const SignInBody = z
  .strictObject({
    message: z.string().meta({
      description:
        'A text as EIP-4361 has it, of at most 4 KiB, with a nonce of this client app and one of its domains.',
    }),
    signature: z.string().meta({
      description:
        'Over the EIP-191 hash of the message, `0x` and hex, at most 4096 bytes: of the account itself (also by ' +
        'EIP-2098), or as its contract takes it (ERC-1271, ERC-6492).',
      pattern: '^0x([0-9a-fA-F]{2})*$',
    }),
  })
  .meta({ id: 'SignIn' });

/** For the OpenAPI document: `validateCheck` enforces it. */
export const exactlyOneOf = (...names: readonly string[]) => ({
  oneOf: names.map((name) => ({ required: [name] })),
});

export const CheckBody = z
  .strictObject({
    ...wallets,
    rules: RuleBodies.optional(),
    ruleSet: z.string().optional().meta({ description: 'Instead of `rules`: the id of a stored rule set.' }),
    callbackUrl: CallbackUrl.optional(),
    async: z.boolean().optional(),
    onUndetermined: OnUndetermined.optional(),
    consistency: ConsistencyBody.optional(),
    explain: z
      .boolean()
      .optional()
      .meta({ description: '`true` adds `details` to the result: the amounts that were compared.' }),
    ...proof,
    signIn: z.array(SignInBody).min(1).max(SIGN_INS_MAX).optional().meta({
      description: 'Proves that the caller controls the wallets: each entry another one of the accounts.',
    }),
  })
  .meta({
    id: 'CheckRequest',
    allOf: [exactlyOneOf('account', 'accounts'), exactlyOneOf('rules', 'ruleSet')],
  });
export type CheckBody = z.infer<typeof CheckBody>;
