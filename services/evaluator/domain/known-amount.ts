import { describeUndetermined } from '#shared/contracts/checks/result.ts';
import { type AbiType, isValueOf } from '#shared/contracts/rules/abi-type.ts';
import type { Delegations } from './plan-delegations.ts';
import type { AmountNeeds, Holding, OwnedId, TermNeeds, WeightNeeds } from './plan-reads.ts';
import { type FailedReading, failed, type Read, type Reading } from './read.ts';
import { FRACTION_DIGITS_MAX, formatTokenAmount, PARTS } from './token-amount.ts';

export type ReadingOf = (read: Read) => Reading;

/**
 * The known bounds of an amount, both inclusive; `most` is absent if the amount has no upper bound.
 * `fault` is the failed read that keeps the bounds apart; without it they are equal.
 */
export type Known = {
  readonly least: bigint;
  readonly most: bigint | undefined;
  readonly fault?: FailedReading | undefined;
};

/**
 * The same of an amount of whole tokens, in parts of a token: `10^decimals * divisor` parts are one
 * token. The powers of ten are kept apart: multiplied into the divisors of a sum's terms, they would
 * make numbers of thousands of digits.
 */
export type KnownTokens = Known & { readonly decimals: number; readonly divisor: bigint };

const exactly = (amount: bigint): Known => ({ least: amount, most: amount });
const unknown = (fault: FailedReading, most?: bigint): Known => ({ least: 0n, most, fault });
const NOTHING = exactly(0n);

const leastOf = (a: bigint, b: bigint): bigint => (a - b < 0n ? a : b);

/** The known bounds of the amount that a rule or a term is about, in its smallest unit. */
export function knownAmount(needs: AmountNeeds, readingOf: ReadingOf): Known {
  if ('ids' in needs) return knownCount(needs.ids, needs.accounts, readingOf);
  const { holdings, type } = needs;
  const [only] = holdings;
  if (only !== undefined && holdings.length === 1) return knownHolding(only, readingOf, type);
  return add(holdings.map((holding) => knownHolding(holding, readingOf, type)));
}

const DECIMALS_MAX = 255n;

export function decimalsOf({ decimals }: AmountNeeds, readingOf: ReadingOf): number | FailedReading {
  if (typeof decimals === 'number') return decimals;
  const reading = readingOf(decimals);
  if (reading.ok)
    return reading.value <= DECIMALS_MAX ? Number(reading.value) : failed('decimals-unavailable');
  const isAnswered = reading.code === 'call-reverted' || reading.code === 'return-malformed';
  return isAnswered ? failed('decimals-unavailable') : reading;
}

/** @param type of an output */
function knownHolding({ read, delegations }: Holding, readingOf: ReadingOf, type?: AbiType): Known {
  const reading = ofType(readingOf(read), type);
  const held = reading.ok ? exactly(reading.value) : unknown(reading);
  return delegations === undefined ? held : limit(held, knownDelegation(delegations, readingOf));
}

const ofType = (reading: Reading, type: AbiType | undefined): Reading =>
  reading.ok && type !== undefined && !isValueOf(type, reading.value) ? failed('return-malformed') : reading;

/** The delegated part of a vault's holding. */
function limit(held: Known, delegated: Known): Known {
  const least = leastOf(held.least, delegated.least);
  const most = held.most === undefined ? delegated.most : leastOf(held.most, delegated.most ?? held.most);
  return least === most
    ? exactly(least)
    : { least, most, fault: faultToReport([held.fault, delegated.fault]) };
}

/** More than every balance. */
const WITHOUT_LIMIT = 1n << 256n;

/**
 * How much of a vault's holding is delegated: the largest delegation to one of the accounts. A
 * chain without the registry has no delegations, once a call of it has shown that it is not there.
 */
export function knownDelegation({ reads, isAmount }: Delegations, readingOf: ReadingOf): Known {
  let most = 0n;
  let least = 0n;
  const faults: FailedReading[] = [];
  for (const read of reads) {
    const reading = readingOf(read);
    if (reading.ok && (isAmount || reading.value < 2n)) {
      const given = isAmount ? reading.value : reading.value * WITHOUT_LIMIT;
      if (given > least) least = given;
    } else if (reading.ok || !reading.isAbsent) {
      faults.push(reading.ok ? failed('return-malformed') : reading);
      most = WITHOUT_LIMIT;
    }
  }
  if (most < least) most = least;
  return least === most ? exactly(least) : { least, most, fault: faultToReport(faults) };
}

/**
 * Counts the listed ids that the accounts own, or a vault that has delegated the id. A revert of the
 * contract means "not owned" only if another id of the list was readable, which proves that the
 * contract is an ERC721 (the chain layer has already asked the contract by ERC165).
 */
function knownCount(ids: readonly OwnedId[], accounts: ReadonlySet<bigint>, readingOf: ReadingOf): Known {
  const readings = ids.map(({ owner }) => asAddress(readingOf(owner)));
  const isErc721 = readings.some((reading) => reading.ok);
  return add(
    readings.map((reading, index): Known => {
      if (!reading.ok) return reading.isDeciding && isErc721 ? NOTHING : unknown(reading, 1n);
      if (accounts.has(reading.value)) return exactly(1n);
      const delegations = ids[index]?.delegations.get(reading.value);
      return delegations === undefined
        ? NOTHING
        : limit(exactly(1n), knownDelegation(delegations, readingOf));
    }),
  );
}

/** A word above 160 bits is not an address: the contract has another `ownerOf`, or answers whatever
 * it is asked. */
const asAddress = (reading: Reading): Reading =>
  reading.ok && reading.value >> 160n !== 0n ? failed('return-malformed') : reading;

function add(parts: readonly Known[]): Known {
  let least = 0n;
  let most: bigint | undefined = 0n;
  const faults: FailedReading[] = [];
  for (const part of parts) {
    least += part.least;
    most = most === undefined || part.most === undefined ? undefined : most + part.most;
    if (part.fault !== undefined) faults.push(part.fault);
  }
  const fault = faultToReport(faults);
  return fault === undefined ? exactly(least) : { least, most, fault };
}

/** The part of a term that left it open, by the end of its path. */
export type OpenPart = '' | '/times' | '/per';

/** A term before its weights, its value, and what left it open. */
export type KnownTerm = {
  readonly amount: KnownTokens;
  readonly value: KnownTokens;
  /** Why `value` is not exact. */
  readonly open?: { readonly part: OpenPart; readonly fault: FailedReading };
};

const isZero = ({ least, most }: Known): boolean => least === 0n && most === 0n;
/** As many decimals as a contract may have. */
const POWERS = Array.from({ length: 256 }, (_, decimals) => 10n ** BigInt(decimals));
const powerOf = (decimals: number): bigint => POWERS[decimals] ?? 10n ** BigInt(decimals);
const WHOLE = { decimals: 0, divisor: 1n };
const ZERO: KnownTokens = { ...NOTHING, ...WHOLE };
const ONE: KnownTokens = { ...exactly(1n), ...WHOLE };

/**
 * The amount times `times`, divided by `per`. Zero times anything is zero, whatever else was not
 * read; otherwise an unread factor or divisor leaves the value open upwards, as a divisor of zero
 * does.
 */
export function knownTerm(needs: TermNeeds, readingOf: ReadingOf): KnownTerm {
  const amount = knownTokens(needs.amount, readingOf);
  const times = needs.times === undefined ? ONE : knownWeight(needs.times, readingOf);
  if (isZero(amount) || isZero(times)) return { amount, value: ZERO };
  const per = needs.per === undefined ? ONE : invert(knownWeight(needs.per, readingOf));
  const value = multiply(multiply(amount, times), per);
  const parts: readonly (readonly [OpenPart, KnownTokens])[] = [
    ['', amount],
    ['/times', times],
    ['/per', per],
  ];
  const [open] = parts.flatMap(([part, { fault }]) => (fault === undefined ? [] : [{ part, fault }]));
  return open === undefined ? { amount, value } : { amount, value, open };
}

/** An amount of unknown decimals may be anything, unless it is zero. */
function knownTokens(needs: AmountNeeds, readingOf: ReadingOf): KnownTokens {
  const known = knownAmount(needs, readingOf);
  if (isZero(known)) return ZERO;
  const decimals = decimalsOf(needs, readingOf);
  return typeof decimals === 'number'
    ? { ...known, decimals, divisor: 1n }
    : { ...unknown(known.fault ?? decimals), ...WHOLE };
}

const knownWeight = (weight: WeightNeeds, readingOf: ReadingOf): KnownTokens =>
  'value' in weight
    ? { ...exactly(weight.value), decimals: weight.decimals, divisor: 1n }
    : knownTokens(weight, readingOf);

/** One divided by a weight. */
function invert({ least, decimals, fault }: KnownTokens): KnownTokens {
  if (fault !== undefined) return { ...unknown(fault), ...WHOLE };
  return least === 0n
    ? { ...unknown(failed('return-malformed')), ...WHOLE }
    : { ...exactly(powerOf(decimals)), decimals: 0, divisor: least };
}

const multiply = (one: KnownTokens, other: KnownTokens): KnownTokens => ({
  least: one.least * other.least,
  most: one.most === undefined || other.most === undefined ? undefined : one.most * other.most,
  decimals: one.decimals + other.decimals,
  divisor: one.divisor * other.divisor,
  fault: one.fault ?? other.fault,
});

/**
 * The exact sum of the terms, with at least as many decimals as a client may write. Its divisor is a
 * common multiple of theirs: at most 16 words.
 */
export function knownSum(terms: readonly KnownTokens[]): KnownTokens {
  const decimals = terms.reduce((most, term) => Math.max(most, term.decimals), FRACTION_DIGITS_MAX);
  const divisor = terms.reduce((all, term) => (all % term.divisor === 0n ? all : all * term.divisor), 1n);
  const parts = terms.map((term) =>
    multiplyBy(term, powerOf(decimals - term.decimals) * (divisor / term.divisor)),
  );
  return { ...add(parts), decimals, divisor };
}

const multiplyBy = ({ least, most, fault }: Known, count: bigint): Known => ({
  least: least * count,
  most: most === undefined ? undefined : most * count,
  fault,
});

/** Whole tokens, cut after as many digits as a client may write; nothing if the bounds differ. */
export const textOfTokens = ({ least, decimals, divisor, fault }: KnownTokens): string | undefined =>
  fault === undefined
    ? formatTokenAmount((least * PARTS) / (powerOf(decimals) * divisor), FRACTION_DIGITS_MAX)
    : undefined;

/** The failure to report of several: one that a retry may fix comes first, because then the rule
 * may be decided. */
export const faultToReport = (faults: readonly (FailedReading | undefined)[]): FailedReading | undefined => {
  const known = faults.filter((fault) => fault !== undefined);
  return known.find((fault) => describeUndetermined(fault).retryable) ?? known[0];
};
