import { failed, type Observation, type Reading } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import { askEndpoints } from '../endpoints/ask-endpoints.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { BatchAnswer, ReadFromEndpoint } from '../reader/read-from-endpoint.ts';
import { isSuspect } from '../reader/readings.ts';
import type { FailureKind } from '../rpc/rpc-failure.ts';
import type { Batch } from './entry.ts';
import type { PerformBatch } from './read-queue.ts';

export type BatchReaderOptions = {
  /** Usable endpoints for a block, best first. */
  readonly candidates: (block: Block) => readonly Endpoint[];
  readonly quorum: number;
  /** Folds what several endpoints answered to one read. */
  readonly agreeOn: (observation: Observation, quorum: number) => Reading;
  readonly readFrom: ReadFromEndpoint;
  readonly hedgeAfterMs: (endpoint: Endpoint) => number | undefined;
  readonly readyInMs: (answered: ReadonlySet<Endpoint>) => number | undefined;
  readonly whyNoCandidate: () => FailureKind;
  readonly onHedge: () => void;
  readonly onBatch: (readCount: number) => void;
};

/**
 * Makes the function that answers a batch: asks one endpoint, or as many as the quorum wants; the next one for
 * each that fails or is slow; one more while they disagree.
 */
export function makeBatchReader(options: BatchReaderOptions): PerformBatch {
  const isSettled = (answers: readonly BatchAnswer[]): boolean => {
    const [first] = answers;
    if (first === undefined || options.quorum === 1) return first !== undefined;
    return first.readings.every((_, index) => {
      if (answers.some(({ readings }) => isSuspect(readings[index]))) return true;
      const reading = options.agreeOn(columnOf(answers, index), options.quorum);
      return reading.ok || reading.code !== 'rpc-disagreement';
    });
  };

  return async function readBatch(batch: Batch): Promise<void> {
    const reads = batch.entries.map((entry) => entry.read);
    options.onBatch(reads.length);
    const { answers, failure } = await askEndpoints<BatchAnswer>({
      candidates: () => options.candidates(batch.block),
      quorum: options.quorum,
      isSettled,
      ask: (endpoint, signal) => options.readFrom(endpoint, { ...batch, reads }, signal),
      hedgeAfterMs: options.hedgeAfterMs,
      readyInMs: options.readyInMs,
      whyNoCandidate: options.whyNoCandidate,
      onHedge: options.onHedge,
      onFailure: ({ reading }) => {
        for (const entry of batch.entries) entry.lastFailure = reading;
      },
      signal: batch.controller.signal,
    });
    // Fewer than decide, and the others do not have the block any more: it was replaced, and the check begins anew.
    const isGone = answers.length < options.quorum && failure?.kind === 'block-unavailable';
    if (answers.length > 0 && !isGone) return applyAnswers(batch, answers);
    if (failure === undefined || failure.kind === 'abandoned') return;
    for (const entry of batch.entries) entry.observation = [failure.reading];
  };
}

/**
 * Gives each entry what all endpoints answered. One that is suspect stays open, with what it is told where it may not
 * be read again. So does one that an endpoint had no gas left for, provided that this endpoint got anywhere at all.
 */
function applyAnswers({ entries }: Batch, answers: readonly BatchAnswer[]): void {
  const isProved = answers.every((answer) => answer.isProved);
  const isStuck = answers.map(({ readings }) => readings.every((reading) => reading === undefined));
  for (const [index, entry] of entries.entries()) {
    const column = columnOf(answers, index);
    entry.isProved = isProved;
    if (answers.some(({ readings }) => isSuspect(readings[index]))) {
      entry.suspected = column;
      continue;
    }
    const isToBeTried = answers.some(({ readings }, of) => readings[index] === undefined && !isStuck[of]);
    if (isToBeTried) continue;
    entry.observation = column.length > 0 ? column : [failed('not-read-alone')];
  }
}

/** What all endpoints answered to one read, or suspect of it; those that had no gas left for it are passed over. */
function columnOf(answers: readonly BatchAnswer[], index: number): Reading[] {
  const column: Reading[] = [];
  for (const { readings } of answers) {
    const reading = readings[index];
    if (reading === undefined) continue;
    const told = isSuspect(reading) ? reading.suspected : reading;
    if (answers.length === 1) return [told];
    column.push(told);
  }
  return column;
}
