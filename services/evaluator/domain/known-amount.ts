import { describeUndetermined } from '#shared/contracts/checks/result.ts';
import type { Delegations } from './plan-delegations.ts';
import type { Holding, OwnedId } from './plan-reads.ts';
import { type FailedReading, failed, type Read, type Reading } from './read.ts';

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

const exactly = (amount: bigint): Known => ({ least: amount, most: amount });
const unknown = (fault: FailedReading, most?: bigint): Known => ({ least: 0n, most, fault });
const NOTHING = exactly(0n);

const leastOf = (a: bigint, b: bigint): bigint => (a - b < 0n ? a : b);

/** The amount that several wallets hold together. */
export function knownSum(holdings: readonly Holding[], readingOf: ReadingOf): Known {
  const [only] = holdings;
  if (only !== undefined && holdings.length === 1) return knownHolding(only, readingOf);
  return add(holdings.map((holding) => knownHolding(holding, readingOf)));
}

function knownHolding({ balance, delegations }: Holding, readingOf: ReadingOf): Known {
  const reading = readingOf(balance);
  const held = reading.ok ? exactly(reading.value) : unknown(reading);
  return delegations === undefined ? held : limit(held, knownDelegation(delegations, readingOf));
}

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
 * chain without the registry has no delegations.
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
    } else if (reading.ok || reading.code !== 'contract-not-found') {
      faults.push(reading.ok ? failed('return-malformed') : reading);
      most = WITHOUT_LIMIT;
    }
  }
  if (most < least) most = least;
  return least === most ? exactly(least) : { least, most, fault: faultToReport(faults) };
}

/**
 * Counts the listed ids that the accounts own, or a vault that has delegated the id. A revert means
 * "not owned" only if another id of the list was readable, which proves that the contract is an
 * ERC721 (the chain layer has already asked the contract by ERC165).
 */
export function knownCount(
  ids: readonly OwnedId[],
  accounts: ReadonlySet<bigint>,
  readingOf: ReadingOf,
): Known {
  const readings = ids.map(({ owner }) => asAddress(readingOf(owner)));
  const isErc721 = readings.some((reading) => reading.ok);
  return add(
    readings.map((reading, index): Known => {
      if (!reading.ok) return reading.code === 'call-reverted' && isErc721 ? NOTHING : unknown(reading, 1n);
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

/** The failure to report of several: one that a retry may fix comes first, because then the rule
 * may be decided. */
export const faultToReport = (faults: readonly (FailedReading | undefined)[]): FailedReading | undefined => {
  const known = faults.filter((fault) => fault !== undefined);
  return known.find((fault) => describeUndetermined(fault).retryable) ?? known[0];
};
