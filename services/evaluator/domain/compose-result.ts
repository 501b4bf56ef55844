import type { EvaluatedCheck } from '#shared/contracts/checks/check-completed.ts';
import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import {
  type BlockReport,
  type CheckResult,
  describeUndetermined,
  isRefunded,
  type RuleDetail,
  type RuleFault,
  type SignInFault,
  type Undetermined,
} from '#shared/contracts/checks/result.ts';
import { type Rule, simpleRulesOf } from '#shared/contracts/rules/rule.ts';
import type { WalletSignIn } from '#shared/contracts/sign-in/sign-in-request.ts';
import type { Readings } from './agree.ts';
import type { Verdict } from './judge-rules.ts';
import type { ProvenRequest, ProvenResult } from './proof-claims.ts';
import type { ChainObservations } from './read.ts';

/** The fields of a check that its failure result needs; of its rules only the fields that an error
 * reports. */
export type FailedCheck = Pick<
  CheckRequested,
  | 'requestId'
  | 'clientId'
  | 'accountId'
  | 'keyId'
  | 'delivery'
  | 'acceptedAt'
  | 'retainUntil'
  | 'chargedMonth'
  | 'ruleSet'
> & { readonly rules: readonly NamedRule[] };

/** The evaluated check, but for what the record of its request tells. */
export type ComposedCheck = Omit<EvaluatedCheck, 'mode' | 'startedAt' | 'request'> &
  Pick<CheckRequested, 'delivery'>;

/** A rule by its role, and by the chain and the contract of the simple rule that its error
 * names. */
export type NamedRule = {
  readonly roleId: string;
  readonly chainId: number;
  readonly contractAddress?: string | undefined;
};

/** A rule as its error names it if nothing of it is known: a composed one by its first simple
 * rule. */
export function nameRule(rule: Rule): NamedRule {
  const [first] = simpleRulesOf(rule);
  if (first === undefined) throw new RangeError('a composed rule without rules');
  const { chainId, contractAddress } = first;
  return { roleId: rule.roleId, chainId, ...(contractAddress === undefined ? {} : { contractAddress }) };
}

/** The blocks that were read, by chain id. */
export type Blocks = Readonly<Record<string, BlockReport>>;

type Evaluation = {
  readonly verdicts: readonly Verdict[];
  readonly blocks: Blocks;
  /** ISO 8601, Redis's clock. */
  readonly evaluatedAt: string;
  /** Why each rule ended as it did, where the check asked for it. */
  readonly details?: readonly RuleDetail[] | undefined;
  /** Of a wallet that is not proved: then nothing is said of the rules. */
  readonly fault?: SignInFault | undefined;
};

/**
 * Composes the message that completes a check. Only this file builds the result's JSON text.
 *
 * An undetermined rule is reported as an error. `onUndetermined` decides whether the rule is also
 * omitted, denied, or fails the whole check.
 *
 * @param prove signs the result of a check that asked for a proof
 */
export function composeResult(
  check: CheckRequested,
  { verdicts, blocks, evaluatedAt, details, fault }: Evaluation,
  prove: (request: ProvenRequest, result: ProvenResult, jti: string) => string | undefined,
): ComposedCheck {
  const { requestId } = check;
  if (fault !== undefined)
    return complete(check, { requestId, status: 'failed', roles: [], errors: [fault], evaluatedAt, blocks });
  const result: CheckResult = {
    requestId,
    ...outcomeOf(check, verdicts),
    evaluatedAt,
    blocks,
    ...(details === undefined ? {} : { details: [...details] }),
    ...(check.signIn === undefined ? {} : { signIn: check.signIn.wallets.map(asProved) }),
  };
  const proof = prove(check, result, check.requestId);
  return complete(check, proof === undefined ? result : { ...result, proof });
}

const asProved = ({ account }: WalletSignIn) => ({ account, outcome: 'proved' as const });

/** The members of a result that are about the rules. */
export type Outcome = Pick<CheckResult, 'status' | 'roles'> & { readonly errors: RuleFault[] };

/** Composes the members about the rules, for the result of a check or of an entry of a batch. */
function outcomeOf(
  { rules, onUndetermined }: Pick<CheckRequested, 'rules' | 'onUndetermined'>,
  verdicts: readonly Verdict[],
): Outcome {
  const roles: CheckResult['roles'] = [];
  const errors: RuleFault[] = [];
  for (const [ruleIndex, rule] of rules.entries()) {
    const verdict = verdicts[ruleIndex] ?? { outcome: 'undetermined', code: 'internal' };
    if (verdict.outcome !== 'undetermined') {
      roles.push({ id: rule.roleId, granted: verdict.outcome === 'granted' });
      continue;
    }
    errors.push(faultOf({ ...nameRule(rule), ...verdict.open }, ruleIndex, verdict));
    if (onUndetermined === 'deny') roles.push({ id: rule.roleId, granted: false });
  }
  const isFailed = roles.length === 0 || (onUndetermined === 'fail' && errors.length > 0);
  return { status: isFailed ? 'failed' : 'completed', roles: isFailed ? [] : roles, errors };
}

/**
 * `outcomeOf` for many entries and the same rules: entries for which all rules end alike, and are
 * decided, share one outcome.
 */
export function makeOutcomes(
  part: Pick<CheckRequested, 'rules' | 'onUndetermined'>,
): (verdicts: readonly Verdict[]) => Outcome {
  const decided = new Map<string, Outcome>();
  return (verdicts) => {
    let pattern = '';
    for (const { outcome } of verdicts) {
      if (outcome === 'undetermined') return outcomeOf(part, verdicts);
      pattern += outcome === 'granted' ? '1' : '0';
    }
    const known = decided.get(pattern) ?? outcomeOf(part, verdicts);
    decided.set(pattern, known);
    return known;
  };
}

/**
 * The terminal result of a check that could not be evaluated at all: `failed`, whatever
 * `onUndetermined` says.
 *
 * @param details where the check asked for them
 */
export const composeFailure = (
  check: FailedCheck,
  evaluatedAt: string,
  details?: readonly RuleDetail[],
): ComposedCheck =>
  complete(check, {
    requestId: check.requestId,
    ...failureOf(check.rules),
    evaluatedAt,
    blocks: {},
    ...(details === undefined ? {} : { details: [...details] }),
  });

/** The same members for a check, or an entry of a batch, that could not be evaluated at all. */
export const failureOf = (rules: readonly NamedRule[]): Outcome => ({
  status: 'failed',
  roles: [],
  errors: rules.map((rule, ruleIndex) => faultOf(rule, ruleIndex, { code: 'internal' })),
});

function complete(
  check: Omit<FailedCheck, 'rules'> & { readonly rules: readonly unknown[] },
  result: CheckResult,
): ComposedCheck {
  return {
    requestId: check.requestId,
    clientId: check.clientId,
    accountId: check.accountId,
    keyId: check.keyId,
    delivery: check.delivery,
    acceptedAt: check.acceptedAt,
    retainUntil: check.retainUntil,
    decided: !isRefunded(result, check.rules.length),
    ...(check.chargedMonth === undefined ? {} : { chargedMonth: check.chargedMonth }),
    resultJson: JSON.stringify(check.ruleSet ? { ...result, ruleSet: check.ruleSet } : result),
  };
}

function faultOf(
  rule: NamedRule & { readonly path?: string },
  ruleIndex: number,
  undetermined: Undetermined,
): RuleFault {
  const { message, retryable } = describeUndetermined(undetermined);
  return {
    ruleIndex,
    roleId: rule.roleId,
    code: undetermined.code,
    message,
    retryable,
    chainId: rule.chainId,
    ...(rule.contractAddress === undefined ? {} : { contractAddress: rule.contractAddress }),
    ...(rule.path === undefined ? {} : { path: `/rules/${ruleIndex}${rule.path}` }),
  };
}

/** The blocks that were read. */
export function blocksOf(observed: ReadonlyMap<number, ChainObservations>): Blocks {
  const blocks: Record<string, BlockReport> = {};
  for (const [chainId, { block }] of observed) if (block !== undefined) blocks[String(chainId)] = block;
  return blocks;
}

/** The chains that were not read at the instant of the others. */
export const behindOf = (observed: ReadonlyMap<number, ChainObservations>): ReadonlySet<number> =>
  new Set([...observed].flatMap(([chainId, { isBehind }]) => (isBehind ? [chainId] : [])));

/** By chain id, when the head of the reads was requested, epoch ms. */
export function headTimesOf(observed: ReadonlyMap<number, ChainObservations>): Record<string, number> {
  const times: Record<string, number> = {};
  for (const [chainId, { headAskedAtMs }] of observed)
    if (headAskedAtMs !== undefined) times[String(chainId)] = headAskedAtMs;
  return times;
}

/** By chain id, the endpoints that answered. */
export function answeredByOf(observed: ReadonlyMap<number, ChainObservations>): Record<string, string[]> {
  const names: Record<string, string[]> = {};
  for (const [chainId, { answeredBy }] of observed)
    if (answeredBy !== undefined) names[String(chainId)] = [...answeredBy];
  return names;
}

/** By chain id, the time of the block, epoch ms; a time that no clock has is left out. */
export const blockTimesOf = (blocks: Blocks): Record<string, number> =>
  Object.fromEntries(
    Object.entries(blocks)
      .map(([chainId, { timestamp }]) => [chainId, timestamp * 1_000] as const)
      .filter(([, atMs]) => Number.isSafeInteger(atMs)),
  );

export const isUndetermined = ({ outcome }: Verdict): boolean => outcome === 'undetermined';

/**
 * Whether a read failed that may succeed when it is repeated. The verdicts do not tell: an
 * undetermined rule reports one of its failed reads.
 */
export const hasRetryable = (readings: Readings): boolean =>
  [...readings.values()].some((reading) => !reading.ok && describeUndetermined(reading).retryable);
