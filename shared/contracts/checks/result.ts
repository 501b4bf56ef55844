import { z } from 'zod';
import { RuleSetReference } from '../rules/rule.ts';

/** Why a rule is undetermined, and whether asking again may decide it (the docs' page `errors`
 * shows this table). */
export const UNDETERMINED = {
  'rpc-unavailable': { retryable: true, message: 'No RPC endpoint of this chain gave an answer.' },
  'rpc-timeout': { retryable: true, message: 'The RPC endpoints of this chain did not answer in time.' },
  'rpc-disagreement': { retryable: true, message: 'Too few RPC endpoints gave the same answer.' },
  'chain-stale': { retryable: true, message: 'The newest block of this chain is too old.' },
  'block-mismatch': {
    retryable: true,
    message: 'The answer came from another block than the requested one.',
  },
  'block-unavailable': { retryable: true, message: 'The RPC endpoint does not have the requested block.' },
  'min-block-not-reached': {
    retryable: true,
    message: 'No RPC endpoint has reached the minimum block yet.',
  },
  'contract-not-found': { retryable: false, message: 'There is no contract at this address.' },
  'call-reverted': {
    retryable: false,
    message: 'The contract reverted the call: it may lack the function that this rule reads.',
  },
  'return-malformed': {
    retryable: false,
    message: 'The contract did not answer with one 32-byte value: it may be of another type than the rule.',
  },
  'decimals-unavailable': {
    retryable: false,
    message: 'The contract has no readable decimals(): it may not be an ERC20 contract.',
  },
  'gas-exhausted': { retryable: false, message: 'The contract used up the gas of the call.' },
  'deadline-exceeded': {
    retryable: true,
    message: 'The deadline of the check passed before this rule was read.',
  },
  'sign-in-refused': { retryable: false, message: 'The signature does not prove this wallet.' },
  'sign-in-unread': {
    retryable: true,
    message: "The wallet's contract could not be asked whether the signature is valid.",
  },
  internal: { retryable: true, message: 'Something went wrong on our side.' },
} as const satisfies Record<string, { retryable: boolean; message: string }>;

/**
 * Causes that their code does not describe enough: each has its own message, and its own value of
 * whether another try may help.
 */
export const UNDETERMINED_CAUSES = {
  'wrong-chain': {
    code: 'rpc-unavailable',
    retryable: true,
    message:
      'No RPC endpoint of this chain gave an answer, and one of them serves another chain: its URL in the chain file must be corrected.',
  },
  'block-too-far-ahead': {
    code: 'min-block-not-reached',
    retryable: false,
    message:
      "The minimum block is more than 10 seconds of blocks ahead of the chain's head, so it was not waited for. Ask for a lower block.",
  },
  'block-past-head': {
    code: 'block-unavailable',
    retryable: false,
    message:
      "The requested block is more than 10 seconds of blocks beyond the chain's head, so it was not waited for. Ask for an earlier block.",
  },
  'state-unavailable': {
    code: 'block-unavailable',
    retryable: false,
    message:
      'No RPC endpoint of this chain has the state of the requested block. Request a later block, or use an archive node.',
  },
  'not-read-alone': {
    code: 'gas-exhausted',
    retryable: true,
    message:
      'The read needed a call of its own, with more gas or to confirm a revert, and too many reads of this check or client app waited for one.',
  },
  'wallet-gas-exhausted': {
    code: 'sign-in-unread',
    retryable: false,
    message: "The wallet's contract, or the call that deploys it, used up the gas of the call.",
  },
  'too-many-reads': {
    code: 'internal',
    retryable: false,
    message:
      'The rules need more than 10,000 reads for the wallets of this member. Use fewer wallets, vaults or token ids.',
  },
} as const satisfies Record<string, { code: keyof typeof UNDETERMINED; retryable: boolean; message: string }>;
export type UndeterminedCause = keyof typeof UNDETERMINED_CAUSES;

/** Why nothing is known: a code that clients see, and a cause where the code says too little. */
export type Undetermined = { readonly code: UndeterminedCode; readonly cause?: UndeterminedCause };

/**
 * The error that a client gets for a rule that could not be read.
 *
 * @example
 * describeUndetermined({ code: 'gas-exhausted' }).retryable; // false
 */
export const describeUndetermined = ({
  code,
  cause,
}: Undetermined): { readonly retryable: boolean; readonly message: string } =>
  cause === undefined ? UNDETERMINED[code] : UNDETERMINED_CAUSES[cause];

export const UndeterminedCode = z
  .enum(Object.keys(UNDETERMINED) as [keyof typeof UNDETERMINED, ...(keyof typeof UNDETERMINED)[]])
  .meta({ id: 'UndeterminedCode' });
export type UndeterminedCode = keyof typeof UNDETERMINED;

export const RoleVerdict = z.object({ id: z.string(), granted: z.boolean() }).meta({ id: 'RoleVerdict' });

export const RuleFault = z
  .object({
    ruleIndex: z.number().int().nonnegative(),
    roleId: z.string(),
    code: UndeterminedCode,
    message: z.string(),
    retryable: z.boolean(),
    chainId: z.number().int().positive(),
    contractAddress: z.string().optional(),
    /** JSON pointer of the nested rule that left a composed rule open, such as `/rules/0/rules/2`. */
    path: z.string().optional(),
  })
  .meta({ id: 'RuleFault' });
export type RuleFault = z.infer<typeof RuleFault>;

export const isRuleFault = (fault: RuleFault | SignInFault): fault is RuleFault => 'ruleIndex' in fault;

/** Why a wallet is not proved: then nothing is said of any rule. */
export const SignInFault = z
  .object({
    account: z.string(),
    code: z.enum(['sign-in-refused', 'sign-in-unread']),
    message: z.string(),
    retryable: z.boolean(),
    chainId: z.number().int().positive(),
  })
  .meta({ id: 'SignInFault' });
export type SignInFault = z.infer<typeof SignInFault>;

export const BlockReport = z
  .object({
    number: z.number().int().nonnegative(),
    hash: z.string(),
    /** Unix seconds. */
    timestamp: z.number().int().nonnegative(),
    /** Whether the block came back from within the `eth_call` that read the balances. */
    proved: z.boolean(),
    /** Present where every answer that was used came from state that has this block's number and
     * parent (EIP-2935). */
    state: z.literal(true).optional(),
  })
  .meta({ id: 'BlockReport' });
export type BlockReport = z.infer<typeof BlockReport>;

/** A term of a sum: its amount before its weights, absent if it could not be read. */
const TermDetail = z.strictObject({ observed: z.string().optional() }).meta({ id: 'TermDetail' });
export type TermDetail = z.infer<typeof TermDetail>;

/** Why a rule ended as it did; in the order of the rules. */
export const RuleDetail = z
  .object({
    ruleIndex: z.number().int().nonnegative().optional(),
    outcome: z.enum(['granted', 'denied', 'undetermined']),
    /** The exact value that was compared; absent if it could not be read. */
    observed: z.string().optional(),
    required: z
      .object({
        min: z.string().optional(),
        max: z.string().optional(),
        operator: z.string().optional(),
        value: z.string().optional(),
      })
      .optional(),
    /** Of a composed rule; of a sum its terms. */
    get rules() {
      return z.array(z.union([RuleDetail, TermDetail])).optional();
    },
  })
  .meta({ id: 'RuleDetail' });
export type RuleDetail = z.infer<typeof RuleDetail>;

/** The result of a check: one shape for sync, poll and webhook. */
export const CheckResult = z.object({
  requestId: z.string(),
  status: z.enum(['completed', 'failed']),
  /** One entry per decided rule, in the order of the rules. */
  roles: z.array(RoleVerdict),
  /** One entry per undetermined rule, or the one of a wallet that is not proved. */
  errors: z.array(z.union([RuleFault, SignInFault])),
  evaluatedAt: z.iso.datetime(),
  /** By chain id: the one block at which all rules of that chain were read. */
  blocks: z.record(z.string(), BlockReport),
  ruleSet: RuleSetReference.optional(),
  /** One entry per rule, where the check asked for it. */
  details: z.array(RuleDetail).optional(),
  /** The wallets of `signIn`, once all of them are proved. */
  signIn: z.array(z.object({ account: z.string(), outcome: z.literal('proved') })).optional(),
  /** A compact JWS, where the check asked for it and something was decided. */
  proof: z.string().optional(),
});
export type CheckResult = z.infer<typeof CheckResult>;

type Fault = Pick<RuleFault, 'code' | 'retryable'>;
type Outcome = Pick<CheckResult, 'status'> & { readonly errors: readonly Pick<Fault, 'retryable'>[] };

/**
 * Whether a check is refunded to the month's quota: nothing was decided, and asking again may help
 * with every rule. A check that would fail again, such as a check of a contract that does not
 * exist, is charged. So is a check that failed under `onUndetermined: "fail"` although a rule was
 * decided: its details say how. The entry of a wallet stands for all rules.
 */
export const isRefunded = ({ errors }: { readonly errors: readonly Fault[] }, ruleCount: number): boolean => {
  const isUndecided = errors.length === ruleCount || errors.some(({ code }) => code === 'sign-in-unread');
  return isUndecided && errors.every(({ retryable }) => retryable);
};

/** Whether a sync check ended at its deadline or later. Its client was answered 504 then, which is
 * charged although nothing could be decided. */
export const isOverdue = (
  { evaluatedAt }: Pick<CheckResult, 'evaluatedAt'>,
  deadlineAt: string | undefined,
): boolean => deadlineAt !== undefined && Date.parse(evaluatedAt) >= Date.parse(deadlineAt);

export const isCharged = (
  result: Pick<CheckResult, 'errors' | 'evaluatedAt'>,
  check: { readonly rules: { readonly length: number }; readonly deadlineAt?: string | undefined },
): boolean => !isRefunded(result, check.rules.length) || isOverdue(result, check.deadlineAt);

/**
 * Whether a check that failed may succeed when it is made again: a sync one is then answered 503
 * and not by its result.
 *
 * @example
 * isWorthRetrying({ status: 'failed', errors: [{ retryable: false }] }); // false: a wrong contract address, say
 */
export const isWorthRetrying = ({ status, errors }: Outcome): boolean =>
  status === 'failed' && errors.some(({ retryable }) => retryable);
