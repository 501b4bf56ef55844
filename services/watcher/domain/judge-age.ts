import type { RuleFault } from '#shared/contracts/checks/result.ts';
import { type RuleSet, rulesNameOf } from '#shared/contracts/rules/rule-set.ts';
import type { CheckCause, Watch, WatchMember } from '#shared/contracts/watches/watch.ts';

/** A block number counts as false if the chain produces a lower block at least this long after the
 * number was read. */
const FALSE_BLOCK_MS_MIN = 600_000;

/** The findings of one check about a member. */
export type MemberCheck = {
  readonly cause: CheckCause;
  /** The accounts that were read, in lower case. */
  readonly accounts: readonly string[];
  /** Every role of the rule set, in its order; `undefined`: could not be read. */
  readonly verdicts: ReadonlyMap<string, boolean | undefined>;
  readonly blockNumbers: Readonly<Record<string, number>>;
  /** By chain id, when the head of that block was requested, epoch ms; an older evaluator does not
   * say it. */
  readonly headTimes?: Readonly<Record<string, number>> | undefined;
  /** By chain id, the time of that block, epoch ms of the chain; an older evaluator does not say
   * it. */
  readonly blockTimes?: Readonly<Record<string, number>> | undefined;
  readonly errors: readonly RuleFault[];
  readonly evaluatedAt: string;
  /** When the check was requested, Redis's clock. */
  readonly askedAt: string;
  /** When the wallets that were read were set, epoch ms; an older watcher does not say it. */
  readonly walletsAtMs?: number | undefined;
  /** The rule set with its version, and the block tag; see `checkedRules`. */
  readonly rules: string;
  /** The watch has other rules, or another block tag, by now. */
  readonly isOutdated?: boolean;
  /** A revocation that is found waits for the end of this sweep. */
  readonly sweep?: number | undefined;
  /** The sweep was decided before the check was answered: a revocation that it finds is left to the
   * next sweep. */
  readonly isLate?: boolean;
  /** By chain id, the first block that a reorg dropped. */
  readonly reorgFrom?: Readonly<Record<string, number>> | undefined;
  /** When the reorg was known, epoch ms; an older watcher does not say it. */
  readonly reorgKnownAt?: number | undefined;
  /** By chain id, the block of the transfer that caused the check. */
  readonly minBlock?: Readonly<Record<string, number>> | undefined;
};

/**
 * Compares a check with the last check that was applied to the member:
 * - `stale`: it read other wallets than the member has now;
 * - `outdated`: the watch has had other rules since;
 * - `behind`: it read an older block;
 * - `contradicted`: it read a higher block than the last check, but requested its head earlier.
 *   Either that block is on a fork that a reorg has dropped since, or the last check was answered
 *   by an endpoint that lags behind;
 * - `current`: it is to be applied.
 *
 * | block \\ head requested | earlier | not earlier |
 * | --- | --- | --- |
 * | lower | behind | behind, unless a reorg has dropped the known block, or it was false |
 * | the same or higher | contradicted | current |
 *
 * A reorg cannot have dropped a block whose head was requested after the reorg was known.
 *
 * The first check under another block tag may read a lower block, as after a reorg. A known block
 * was false if the chain has made a lower one 10 minutes after it was read: otherwise one false
 * answer would end the member's checks. The time of the block decides, because an endpoint that is
 * stuck has lower blocks too, but old ones.
 */
export function judgeAge(
  member: WatchMember,
  check: MemberCheck,
): 'current' | 'stale' | 'outdated' | 'behind' | 'contradicted' {
  const { rules = { name: check.rules, askedAt: '' } } = member;
  if (!isOfWallets(check, member)) return 'stale';
  if (check.isOutdated || (check.rules !== rules.name && check.askedAt < rules.askedAt)) return 'outdated';
  let isContradicted = false;
  for (const [chainId, number] of Object.entries(check.blockNumbers)) {
    const known = member.blockNumbers[chainId] ?? 0;
    const knownAt = member.headTimes?.[chainId];
    const isEarlier = headTimeOf(check, chainId) < (knownAt ?? 0);
    const madeAt = check.blockTimes?.[chainId] ?? 0;
    const wasFalse = knownAt !== undefined && madeAt - knownAt >= FALSE_BLOCK_MS_MIN;
    const mayBeDropped = (knownAt ?? 0) < (check.reorgKnownAt ?? Infinity);
    const reorgFrom = mayBeDropped ? check.reorgFrom?.[chainId] : undefined;
    const replaced = hasNewTag(member, check) || wasFalse ? 0 : (reorgFrom ?? Infinity);
    const dropped = isEarlier ? Infinity : replaced;
    if (number < Math.min(known, dropped)) return 'behind';
    isContradicted ||= isEarlier;
  }
  return isContradicted ? 'contradicted' : 'current';
}

/** Whether the member was last checked by other rules. */
export const hasNewRules = ({ rules }: WatchMember, check: MemberCheck): boolean =>
  rules !== undefined && rules.name !== check.rules;

/** Whether the member was last checked under another block tag. */
export const hasNewTag = ({ rules }: WatchMember, check: MemberCheck): boolean =>
  rules !== undefined && blockTagOf(rules.name) !== blockTagOf(check.rules);

/** When the head of a check's reads was requested, epoch ms. */
export const headTimeOf = ({ headTimes, evaluatedAt }: MemberCheck, chainId: string): number =>
  headTimes?.[chainId] ?? Date.parse(evaluatedAt);

/**
 * Whether a check that a reorg caused has read a head that was requested before the reorg was
 * known: an evaluator uses a head for a moment, and an endpoint may still have the blocks of the
 * dropped fork.
 */
export const mayBeOfDroppedFork = (check: MemberCheck): boolean =>
  Object.keys(check.reorgFrom ?? {}).some(
    (id) => id in check.blockNumbers && headTimeOf(check, id) < (check.reorgKnownAt ?? 0),
  );

/** Whether the member's present wallets were read. A result names no vaults, so the time at which
 * they were set decides. */
const isOfWallets = ({ accounts, walletsAtMs, askedAt }: MemberCheck, member: WatchMember): boolean => {
  const setAtMs = Date.parse(member.walletsAt);
  if (walletsAtMs === undefined ? Date.parse(askedAt) < setAtMs : walletsAtMs !== setAtMs) return false;
  const own = accountsOf(member);
  return accounts.length === own.length && accounts.every((account, i) => account === own[i]);
};

const accountsOf = ({ account, accounts }: Pick<WatchMember, 'account' | 'accounts'>): string[] =>
  (accounts ?? [account]).map((each) => each.toLowerCase());

/** The rules of a watch's checks: the rule set with its version, and the block tag unless it is
 * `latest`: `vip@3`, `vip@3 safe`. */
export const checkedRules = (ruleSet: RuleSet, { blockTag }: Pick<Watch, 'blockTag'>): string =>
  blockTag === 'latest' ? rulesNameOf(ruleSet) : `${rulesNameOf(ruleSet)} ${blockTag}`;

/** The block tag of a check's rules. */
const blockTagOf = (rules: string): string => rules.split(' ')[1] ?? 'latest';
