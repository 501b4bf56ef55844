import type { Undetermined, UndeterminedCode } from '#shared/contracts/result.ts';
import { isTokenRule, type Rule, type TokenRule } from '#shared/contracts/rule.ts';
import type { Readings } from './agree.ts';
import type { ReadPlan, RuleNeeds } from './plan-reads.ts';
import { type FailedReading, failed, type Read, type Reading } from './read.ts';
import { scaleTokenAmount } from './token-amount.ts';

export type Verdict =
  | { readonly outcome: 'granted' | 'denied' }
  | ({ readonly outcome: 'undetermined' } & Undetermined);

/** Native coin decimals by chain id. */
export type NativeDecimals = (chainId: number) => number;

/** The bounds of an amount, both inclusive. `fault` is the failed read that keeps the bounds apart. */
type Known = { readonly least: bigint; readonly most: bigint | undefined; readonly fault?: FailedReading };

const DECIMALS_MAX = 255n;

/**
 * Judges each rule against the readings, in rule order.
 *
 * A failed read is never a "no": it leaves the amount uncertain between two bounds, and the rule is decided only if
 * every amount within the bounds gives the same verdict. For example, a rule requires one of the ids 1 and 2, and id 2
 * could not be read: a wallet that holds id 1 is granted, and a wallet without id 1 is undetermined, not denied.
 *
 * @example
 * judgeRules([rule], plan, new Map([[nativeKey, { ok: true, value: 5n * 10n ** 18n }]]), () => 18);
 * // [{ outcome: 'granted' }] for a rule that requires 5 of the native coin
 */
export function judgeRules(
  rules: readonly Rule[],
  plan: ReadPlan,
  readings: Readings,
  nativeDecimals: NativeDecimals,
): Verdict[] {
  const readingOf = (read: Read) => readings.get(read.key) ?? failed('internal');
  return rules.map((rule, index) => {
    const needs = plan.needs[index];
    return needs === undefined || !isTokenRule(rule)
      ? undetermined(failed('internal'))
      : judgeRule(rule, needs, readingOf, nativeDecimals);
  });
}

type ReadingOf = (read: Read) => Reading;

function judgeRule(rule: TokenRule, needs: RuleNeeds, readingOf: ReadingOf, native: NativeDecimals): Verdict {
  const known = knownAmount(needs, readingOf);
  const decimals = decimalsOf(rule, needs, readingOf, native);
  if (known.fault !== undefined && needs.kind === 'amount') return undetermined(known.fault);
  if (typeof decimals !== 'number') return undetermined(decimals);
  const least = scaleTokenAmount(rule.minToken, decimals, 'up');
  const most = rule.maxToken === undefined ? undefined : scaleTokenAmount(rule.maxToken, decimals, 'down');
  return judgeAmount(known, least, most);
}

/** Compares the bounds of the amount with the rule's minimum and maximum; all bounds are inclusive. */
function judgeAmount(known: Known, min: bigint, max: bigint | undefined): Verdict {
  const isSurelyEnough = known.least >= min;
  const isSurelyNotTooMuch = max === undefined || (known.most !== undefined && known.most <= max);
  if (isSurelyEnough && isSurelyNotTooMuch) return { outcome: 'granted' };
  const isSurelyTooLittle = known.most !== undefined && known.most < min;
  const isSurelyTooMuch = max !== undefined && known.least > max;
  if (isSurelyTooLittle || isSurelyTooMuch) return { outcome: 'denied' };
  return known.fault === undefined ? { outcome: 'denied' } : undetermined(known.fault);
}

function knownAmount(needs: RuleNeeds, readingOf: ReadingOf): Known {
  if (needs.kind === 'owned-ids') return knownCount(needs.owners, readingOf);
  const balances = needs.kind === 'sum' ? needs.balances : [needs.balance];
  let sum = 0n;
  const faults: FailedReading[] = [];
  for (const balance of balances) {
    const reading = readingOf(balance);
    if (reading.ok) sum += reading.value;
    else faults.push(reading);
  }
  const fault = worstOf(faults);
  return fault === undefined ? { least: sum, most: sum } : { least: sum, most: undefined, fault };
}

/**
 * Counts the listed ids that the account owns. A revert means "not owned" only if another id of the list was readable,
 * which proves that the contract is an ERC721 (the chain layer has already asked the contract by ERC165).
 */
function knownCount(owners: readonly Read[], readingOf: ReadingOf): Known {
  const readings = owners.map(readingOf);
  const isErc721 = readings.some((reading) => reading.ok);
  let owned = 0n;
  const faults: FailedReading[] = [];
  for (const [index, reading] of readings.entries()) {
    if (reading.ok) owned += reading.value === BigInt(owners[index]?.account ?? 0) ? 1n : 0n;
    else if (reading.code !== 'call-reverted' || !isErc721) faults.push(reading);
  }
  const fault = worstOf(faults);
  const most = owned + BigInt(faults.length);
  return fault === undefined ? { least: owned, most: owned } : { least: owned, most, fault };
}

function decimalsOf(
  rule: TokenRule,
  needs: RuleNeeds,
  readingOf: ReadingOf,
  native: NativeDecimals,
): number | FailedReading {
  if (needs.kind !== 'amount') return 0;
  if (needs.decimals === undefined) return native(rule.chainId);
  const reading = readingOf(needs.decimals);
  if (reading.ok)
    return reading.value <= DECIMALS_MAX ? Number(reading.value) : failed('decimals-unavailable');
  return isFinal(reading) && reading.code !== 'contract-not-found' ? failed('decimals-unavailable') : reading;
}

/** Failures that a retry will not fix. */
const FINAL_CODES: ReadonlySet<UndeterminedCode> = new Set<UndeterminedCode>([
  'contract-not-found',
  'call-reverted',
  'return-malformed',
  'decimals-unavailable',
  'gas-exhausted',
]);

const isFinal = ({ code, cause }: FailedReading): boolean => cause === undefined && FINAL_CODES.has(code);

/** The failure to report for several failed reads: a failure that a retry will not fix comes first. */
const worstOf = (faults: readonly FailedReading[]): FailedReading | undefined =>
  faults.find(isFinal) ?? faults[0];

const undetermined = ({ code, cause }: FailedReading): Verdict => ({
  outcome: 'undetermined',
  code,
  ...(cause === undefined ? {} : { cause }),
});
