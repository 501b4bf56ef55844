import type { UndeterminedCode } from '#shared/contracts/checks/result.ts';
import {
  ABSENT,
  type ChainObservations,
  DECIDING_REVERT,
  failed,
  type Observation,
  type Read,
  type Reading,
} from './read.ts';

/** Failures that the contract or the chain itself caused: another honest endpoint would return the
 * same. */
const ANSWERS: ReadonlySet<UndeterminedCode> = new Set<UndeterminedCode>([
  'contract-not-found',
  'call-reverted',
  'return-malformed',
  'gas-exhausted',
]);

/** Whether a reading is a fact about the chain, and not a failure of the endpoint or the
 * network. */
export const isAnswer = (reading: Reading): boolean =>
  reading.ok || (ANSWERS.has(reading.code) && reading.cause === undefined);

/** One reading per read of a check, over all its chains. */
export type Readings = ReadonlyMap<Read, Reading>;

/**
 * Reduces the answers of all endpoints of all chains to one reading per read.
 *
 * @param reads by chain id
 * @param observed by chain id, in the order of the reads
 */
export function agree(
  reads: ReadonlyMap<number, readonly Read[]>,
  observed: ReadonlyMap<number, ChainObservations>,
): Readings {
  const readings = new Map<Read, Reading>();
  for (const [chainId, { quorum, observations }] of observed)
    for (const [index, read] of (reads.get(chainId) ?? []).entries()) {
      const observation = observations[index];
      if (observation !== undefined) readings.set(read, agreeOn(observation, quorum));
    }
  return readings;
}

/**
 * Reduces the answers of one or several endpoints to one read to a single reading, by quorum:
 * - exactly one answer was given by at least `quorum` endpoints: that answer;
 * - no endpoint answered: the code of the last attempt;
 * - a revert, or that there is no contract, which fewer than `quorum` endpoints have shown to decide:
 *   one that decides nothing;
 * - too few equal answers, or two different answers that both reach the quorum: `rpc-disagreement`.
 *
 * @example
 * agreeOn([{ ok: true, value: 5n }, { ok: true, value: 5n }], 2); // { ok: true, value: 5n }
 * agreeOn([{ ok: true, value: 5n }, { ok: true, value: 6n }], 2); // { ok: false, code: 'rpc-disagreement' }
 */
export function agreeOn(observation: Observation, quorum: number): Reading {
  const only = observation[0];
  if (only !== undefined && observation.length === 1 && quorum === 1) return only;
  const answers = observation.filter(isAnswer);
  if (answers.length === 0) return observation.at(-1) ?? failed('internal');
  const decided = new Set<Reading>();
  for (const answer of answers) {
    const first = answers.find((other) => isSame(other, answer));
    const count = answers.filter((other) => isSame(other, answer)).length;
    if (first !== undefined && count >= quorum) decided.add(first);
  }
  const [reading] = decided;
  if (reading === undefined || decided.size > 1) return failed('rpc-disagreement');
  if (reading.ok) return reading;
  const shown = reading.code === 'call-reverted' ? DECIDING_REVERT : ABSENT;
  if (reading.code !== shown.code) return reading;
  const shownCount = answers.filter(
    (answer) => !answer.ok && answer.code === shown.code && (answer.isDeciding || answer.isAbsent),
  ).length;
  return shownCount >= quorum ? shown : failed(reading.code);
}

function isSame(one: Reading, other: Reading): boolean {
  if (one.ok && other.ok) return one.value === other.value;
  return !one.ok && !other.ok && one.code === other.code;
}

/**
 * The readings of a check whose minimum block the watcher has set: an endpoint that is far behind
 * it may catch up, so that another try may help.
 */
export const withOwnMinBlock = (readings: Readings): Readings =>
  new Map(
    [...readings].map(([read, reading]) => [
      read,
      !reading.ok && reading.cause === 'block-too-far-ahead' ? failed('min-block-not-reached') : reading,
    ]),
  );
