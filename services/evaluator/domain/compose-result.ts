import type { z } from 'zod';
import type { EvaluatedCheck } from '#shared/contracts/checks/check-completed.ts';
import { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import {
  type BlockReport,
  type CheckResult,
  describeUndetermined,
  isCharged,
  type RuleDetail,
  type RuleFault,
  type Undetermined,
} from '#shared/contracts/checks/result.ts';
import { type Rule, simpleRulesOf } from '#shared/contracts/rules/rule.ts';
import type { Readings } from './agree.ts';
import type { Verdict } from './judge-rules.ts';
import type { ChainObservations } from './read.ts';

/** The members of a check that its result repeats. */
export const ResultHeader = CheckRequested.pick({
  requestId: true,
  clientId: true,
  accountId: true,
  keyId: true,
  delivery: true,
  acceptedAt: true,
  retainUntil: true,
  chargedMonth: true,
  ruleSet: true,
  deadlineAt: true,
});
/** These, and the number of its rules. */
export type ResultHeader = z.infer<typeof ResultHeader> & { readonly rules: { readonly length: number } };

/** The evaluated check, without the members of its request's record. */
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

/** When the verdicts were reached, and at which blocks. */
export type Evaluation = {
  /** ISO 8601, Redis's clock. */
  readonly evaluatedAt: string;
  readonly blocks: Blocks;
};

/** The members of a result that are about the rules, or about a wallet that is not proved. */
export type Outcome = Pick<CheckResult, 'status' | 'roles' | 'errors'>;

/** The members of a result that its check asked for. */
export type Additions = {
  /** Why each rule ended as it did. */
  readonly details?: readonly RuleDetail[] | undefined;
  /** The wallets that are proved. */
  readonly signIn?: CheckResult['signIn'];
  /** A signed verdict. */
  readonly proof?: string | undefined;
};

/** Composes the message that completes a check. Only this file builds the result's JSON text. */
export function composeResult(
  check: ResultHeader,
  outcome: Outcome,
  { evaluatedAt, blocks }: Evaluation,
  { details, signIn, proof }: Additions = {},
): ComposedCheck {
  const { requestId, ruleSet } = check;
  const result: CheckResult = {
    requestId,
    ...outcome,
    evaluatedAt,
    blocks,
    ...(details === undefined ? {} : { details: [...details] }),
    ...(signIn === undefined ? {} : { signIn }),
    ...(proof === undefined ? {} : { proof }),
    ...(ruleSet === undefined ? {} : { ruleSet }),
  };
  return {
    requestId,
    clientId: check.clientId,
    accountId: check.accountId,
    keyId: check.keyId,
    delivery: check.delivery,
    acceptedAt: check.acceptedAt,
    retainUntil: check.retainUntil,
    decided: isCharged(result, check),
    ...(check.chargedMonth === undefined ? {} : { chargedMonth: check.chargedMonth }),
    resultJson: JSON.stringify(result),
  };
}

/**
 * Makes the function that composes the outcome of verdicts on the rules. Entries for which all
 * rules end alike, and are decided, share one outcome.
 *
 * An undetermined rule is reported as an error. `onUndetermined` decides whether the rule is also
 * omitted, denied, or fails the whole check.
 */
export function makeOutcomes(
  request: Pick<CheckRequested, 'rules' | 'onUndetermined'>,
): (verdicts: readonly Verdict[]) => Outcome {
  const decided = new Map<string, Outcome>();
  return (verdicts) => {
    let pattern = '';
    for (const { outcome } of verdicts) {
      if (outcome === 'undetermined') return outcomeOf(request, verdicts);
      pattern += outcome === 'granted' ? '1' : '0';
    }
    const known = decided.get(pattern) ?? outcomeOf(request, verdicts);
    decided.set(pattern, known);
    return known;
  };
}

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

/** The outcome of a check, or an entry of a batch, of which nothing is said: it could not be
 * evaluated, or a wallet is not proved. `failed`, whatever `onUndetermined` says. */
export const failWith = (errors: CheckResult['errors']): Outcome => ({ status: 'failed', roles: [], errors });

/** The errors of rules that could not be evaluated. */
export const faultsOf = (rules: readonly NamedRule[]): RuleFault[] =>
  rules.map((rule, ruleIndex) => faultOf(rule, ruleIndex, { code: 'internal' }));

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

type Observed = ReadonlyMap<number, ChainObservations>;

/** A fact of each chain that was read, by chain id; chains without it are left out. */
function byChain<V>(
  observed: Observed,
  factOf: (chain: ChainObservations) => V | undefined,
): Record<string, V> {
  const facts: Record<string, V> = {};
  for (const [chainId, chain] of observed) {
    const fact = factOf(chain);
    if (fact !== undefined) facts[chainId] = fact;
  }
  return facts;
}

/** The blocks that were read. */
export const blocksOf = (observed: Observed): Blocks => byChain(observed, ({ block }) => block);

/** The chains that were not read at the instant of the others. */
export const behindOf = (observed: Observed): ReadonlySet<number> =>
  new Set([...observed].flatMap(([chainId, { isBehind }]) => (isBehind ? [chainId] : [])));

/** What the watcher asks of a read: all by chain id, times in epoch ms. A block's time that no clock
 * has is left out. */
export const originOf = (observed: Observed) => ({
  /** When the head was requested. */
  headTimes: byChain(observed, ({ headAskedAtMs }) => headAskedAtMs),
  blockTimes: byChain(observed, ({ block }) => {
    const atMs = block && block.timestamp * 1_000;
    return Number.isSafeInteger(atMs) ? atMs : undefined;
  }),
  /** The endpoints that answered. */
  answeredBy: byChain(observed, ({ answeredBy }) => answeredBy && [...answeredBy]),
});

export const isUndetermined = ({ outcome }: Verdict): boolean => outcome === 'undetermined';

/**
 * Whether a read failed that may succeed when it is repeated. The verdicts do not tell: an
 * undetermined rule reports one of its failed reads.
 */
export const hasRetryable = (readings: Readings): boolean =>
  [...readings.values()].some((reading) => !reading.ok && describeUndetermined(reading).retryable);
