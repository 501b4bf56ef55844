import { agreeOn, isAnswer } from '../../domain/agree.ts';
import { failed, isDisputed, type Observation, type Reading } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import { askEndpoints, type Question } from '../endpoints/ask-endpoints.ts';
import { NOT_YET_MS } from '../endpoints/call-lag.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { EndpointPool } from '../endpoints/endpoint-pool.ts';
import type { BatchAnswer, BatchRequest, ReadFromEndpoint } from '../reader/read-from-endpoint.ts';
import { isSuspect, type Suspicion } from '../reader/readings.ts';
import { toRpcFailure } from '../rpc/rpc-failure.ts';
import type { Batch } from './entry.ts';
import type { PerformBatch } from './read-queue.ts';

/** The round in which a block that no endpoint has is looked up: a reorg may have replaced it. */
const REPLACED_ROUND = 3;

type BatchReaderOptions = {
  readonly pool: Question<BatchAnswer>['pool'] & Pick<EndpointPool, 'candidates' | 'ageMs' | 'isBuried'>;
  readonly quorum: number;
  readonly readFrom: ReadFromEndpoint;
  /** Whether the chain has another block in the place of this one, as far as one endpoint knows. */
  readonly isReplaced: (block: Block, signal: AbortSignal) => Promise<boolean>;
  readonly onBatch: (readCount: number) => void;
};

/** An answer with the endpoint that gave it. */
type Answer = BatchAnswer & { readonly from: string };

/**
 * Makes the function that answers a batch. It asks as many endpoints as the quorum requires, the
 * next one for each that fails or is slow, and one more while the answers disagree.
 */
export function makeBatchReader(options: BatchReaderOptions): PerformBatch {
  const { pool, quorum } = options;
  // Reads that as many endpoints suspect as the quorum requires are repeated.
  const isSettled = (answers: readonly BatchAnswer[]): boolean => {
    const [first] = answers;
    if (first === undefined || quorum === 1) return first !== undefined;
    return first.readings.every(
      (_, index) =>
        answers.filter(({ readings }) => isSuspect(readings[index])).length >= quorum ||
        !isDisputed(agreeOn(columnOf(answers, index), quorum)),
    );
  };

  /** For how long an endpoint may still get the block, in ms; 0 or less: it must have it. */
  const newForMs = ({ block, isPast }: Batch): number =>
    isPast && pool.isBuried(block) ? 0 : NOT_YET_MS - pool.ageMs(block);

  /** Asks an endpoint as soon as it can have the block, and notes the age at which it did not. */
  async function ask(
    endpoint: Endpoint,
    batch: Batch,
    known: Pick<BatchRequest, 'reads' | 'isRepeated' | 'capabilities'>,
    lates: Map<Endpoint, number>,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { block, isPast, way } = batch;
    if (newForMs(batch) > 0) await endpoint.lag.wait(pool.ageMs(block), signal);
    const ageMs = pool.ageMs(block);
    const isNew = newForMs(batch) > 0;
    try {
      const answer = await options.readFrom(endpoint, { ...known, block, way, isNew, isPast }, signal);
      if (isNew) endpoint.lag.ready(ageMs, block.hash);
      return { ...answer, from: endpoint.name };
    } catch (error) {
      const { kind, isConfirmed } = toRpcFailure(error);
      // A client can choose a call that fails: it must not make the reads of others wait.
      if (isNew && kind === 'block-unavailable' && isConfirmed) lates.set(endpoint, ageMs);
      throw error;
    }
  }

  return async function readBatch(batch: Batch): Promise<void> {
    const reads = batch.entries.map((entry) => entry.read);
    const { block } = batch;
    const { signal } = batch.controller;
    options.onBatch(reads.length);
    let isRepeated = false;
    let isOfAnotherBlock = false;
    let isReplaced = false;
    const startMs = pool.ageMs(block);
    const lates = new Map<Endpoint, number>();
    const patienceMs = async (round: number): Promise<number> => {
      // However old the block: another node behind the URL may answer from it.
      const leftMs = isOfAnotherBlock ? NOT_YET_MS - (pool.ageMs(block) - startMs) : newForMs(batch);
      // The endpoints of a quorum may be on different forks for a moment, and none decides alone.
      const mayLook = quorum === 1 && leftMs > 0 && round === REPLACED_ROUND;
      if (mayLook) isReplaced = await options.isReplaced(block, signal);
      return isReplaced ? 0 : leftMs;
    };
    const { answers, failure } = await askEndpoints<Answer>({
      pool,
      candidates: () => othersFirst(pool.candidates(block), batch.avoid, quorum),
      quorum,
      isSettled,
      ask: (endpoint, ownSignal, capabilities) =>
        ask(endpoint, batch, { reads, isRepeated, capabilities }, lates, ownSignal),
      patienceMs,
      onFailure: ({ kind, reading }) => {
        isRepeated = true;
        isOfAnotherBlock = kind === 'block-mismatch';
        for (const entry of batch.entries) entry.lastFailure = reading;
      },
      signal,
    });
    // No endpoint gets a block that a reorg has dropped.
    if (answers.length > 0) for (const [endpoint, ageMs] of lates) endpoint.lag.late(ageMs);
    // Too few answers, and the other endpoints no longer have the block, or answer from another
    // one: the check restarts at another block.
    const isGone = failure?.kind === 'block-unavailable' || failure?.kind === 'block-mismatch';
    const isEnough = answers.length >= quorum;
    // No check that was waiting waits any more; one that has joined meanwhile sends the read again.
    if (signal.aborted && !isEnough) return;
    if (answers.length > 0 && (isEnough || !isGone)) return applyAnswers(batch, answers, quorum);
    if (failure === undefined) return;
    for (const entry of batch.entries) entry.observation = [failure.reading];
  };
}

/** The endpoints that are not to be avoided; the others only if these are too few. */
function othersFirst(
  candidates: readonly Endpoint[],
  avoid: readonly string[],
  quorum: number,
): readonly Endpoint[] {
  if (avoid.length === 0) return candidates;
  const [others, avoided] = [false, true].map((is) =>
    candidates.filter(({ name }) => avoid.includes(name) === is),
  ) as [Endpoint[], Endpoint[]];
  return others.length >= quorum ? others : [...others, ...avoided];
}

const NOT_READ: Observation = [failed('not-read-alone')];

/**
 * Sets each entry's observation from the answers of all endpoints. An entry that the quorum does not
 * agree on stays open if it is suspect, with the outcome it gets if it may not be read again, and if
 * an endpoint had no gas left for it and read any other.
 */
function applyAnswers({ entries }: Batch, answers: readonly Answer[], quorum: number): void {
  const source = {
    isProved: answers.every(({ isProved }) => isProved),
    hasState: answers.every(({ hasState }) => hasState),
    endpoints: answers.map(({ from }) => from),
  };
  const isStuck = answers.map(({ readings }) => readings.every((reading) => reading === undefined));
  let column: Observation = NOT_READ;
  let suspicion: Suspicion | undefined;
  let isOpen = false;
  for (const [index, entry] of entries.entries()) {
    // Most wallets hold nothing: equal readings in a row are judged once, and share one
    // observation.
    const isSame = ({ readings }: Answer) => readings[index] === readings[index - 1];
    if (index === 0 || !answers.every(isSame)) {
      column = columnOf(answers, index);
      const isAgreed = isAgreedOn(answers, index, quorum);
      suspicion = isAgreed ? undefined : suspicionOf(answers, index);
      isOpen = !isAgreed && answers.some(({ readings }, of) => readings[index] === undefined && !isStuck[of]);
    }
    entry.source = source;
    if (suspicion !== undefined) {
      entry.suspected = column;
      entry.suspicion = suspicion;
    } else if (!isOpen) entry.observation = column.length === 0 ? NOT_READ : column;
  }
}

/** All endpoints' readings or suspected outcomes of one read; endpoints that had no gas left for it
 * are skipped. */
function columnOf(answers: readonly BatchAnswer[], index: number): Reading[] {
  const column: Reading[] = [];
  for (const { readings } of answers) {
    const reading = readings[index];
    if (reading === undefined) continue;
    column.push(isSuspect(reading) ? reading.suspected : reading);
  }
  return column;
}

/** More gas comes before a plain call, and both before a read alone. */
const SUSPICIONS: readonly Suspicion[] = ['gas', 'caller', 'revert'];

/** Whether as many endpoints as the quorum requires gave the same final reading: then no other one can
 * leave it open. */
function isAgreedOn(answers: readonly BatchAnswer[], index: number, quorum: number): boolean {
  const final: Reading[] = [];
  for (const { readings } of answers) {
    const reading = readings[index];
    if (reading !== undefined && !isSuspect(reading)) final.push(reading);
  }
  return final.length >= quorum && (final.length === answers.length || isAnswer(agreeOn(final, quorum)));
}

/** The suspicion of any endpoint. */
function suspicionOf(answers: readonly BatchAnswer[], index: number): Suspicion | undefined {
  let found: Suspicion | undefined;
  for (const { readings } of answers) {
    const reading = readings[index];
    if (!isSuspect(reading)) continue;
    const { suspicion } = reading;
    if (found === undefined || SUSPICIONS.indexOf(suspicion) < SUSPICIONS.indexOf(found)) found = suspicion;
  }
  return found;
}
