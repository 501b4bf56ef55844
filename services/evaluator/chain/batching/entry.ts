import type { AppOwner } from '#shared/fairness/fair-shares.ts';
import {
  type FailedReading,
  failed,
  type Observation,
  READ_LANES,
  type Read,
  type ReadLane,
} from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import type { Suspicion } from '../reader/readings.ts';

/**
 * How a read is sent: with the reads of all checks; with other reads of its contract that needed
 * more gas; with others of its contract, whose reverts a plain call may confirm; or isolated, with
 * the most gas.
 */
export type ReadWay = 'shared' | 'costly' | 'caller' | 'isolated';

/** What is known of the calls that answered the reads of a batch. */
type AnswerSource = {
  /** Whether they proved the block. */
  readonly isProved: boolean;
  /** Whether they also identified the state that they read. */
  readonly hasState: boolean;
  readonly endpoints: readonly string[];
};

/** One read of one block: waiting, in flight or answered, and shared by all checks that requested
 * it. */
export type Entry = AppOwner & {
  readonly read: Read;
  readonly lane: ReadLane;
  /** Of the check that requested it first. */
  readonly traceparent: string | undefined;
  observation: Observation | undefined;
  /** Its outcome if it may not be read again: set after an outcome that is not final. */
  suspected: Observation | undefined;
  /** Why the outcome of its last call is not final. */
  suspicion: Suspicion | undefined;
  way: ReadWay;
  source: AnswerSource | undefined;
  /** How the last attempt failed, for checks that must end before there is an answer. */
  lastFailure: FailedReading | undefined;
  wantedBy: readonly Ticket[];
  batch: Batch | undefined;
};

/** Reads of one block that are sent together. */
export type Batch = {
  readonly block: Block;
  entries: readonly Entry[];
  /** Whether only checks that named the block by its number want it. */
  readonly isPast: boolean;
  /** The endpoints that are asked only if there are too few others. */
  readonly avoid: readonly string[];
  readonly way: ReadWay;
  /** The client app that called for it; absent for calls that many share. */
  readonly app: AppOwner | undefined;
  /** Aborted when no check waits for any of its entries any more. */
  readonly controller: AbortController;
  wantedCount: number;
};

type BatchOf = Pick<Batch, 'block' | 'isPast' | 'avoid'>;

export const newBatch = ({ block, isPast, avoid }: BatchOf, way: ReadWay, app?: AppOwner): Batch => ({
  block,
  isPast,
  avoid,
  entries: [],
  way,
  app,
  controller: new AbortController(),
  wantedCount: 0,
});

/** Who asks, and how many more reads its check may have repeated in isolation. */
export type Asker = AppOwner & { readonly isolatedReads: IsolatedReadBudget };

/** A check's wait for its reads of one chain. */
export type Ticket = Asker & {
  openCount: number;
  readonly done: () => void;
};

/** How many reads of a check, or of each entry of a part of a batch, may be repeated in
 * isolation. */
const ISOLATED_READS_PER_CHECK_MAX = 8;

/** How many more reads of a check may be repeated in isolation; of a part of a batch, of each of
 * its entries. */
export class IsolatedReadBudget {
  readonly #isPart: boolean;
  /** Most checks spend none. */
  #usedByEntry: Map<number, number> | undefined;

  constructor(lane: ReadLane) {
    this.#isPart = lane === 'batch';
  }

  hasRoomFor(read: Read): boolean {
    return (this.#usedByEntry?.get(this.#entryOf(read)) ?? 0) < ISOLATED_READS_PER_CHECK_MAX;
  }

  spend(read: Read): void {
    const entry = this.#entryOf(read);
    this.#usedByEntry ??= new Map();
    this.#usedByEntry.set(entry, (this.#usedByEntry.get(entry) ?? 0) + 1);
  }

  #entryOf({ entryIndex = 0 }: Read): number {
    return this.#isPart ? entryIndex : 0;
  }
}

export const NOBODY: readonly Ticket[] = [];
export const NO_ENDPOINTS: readonly string[] = [];

/** Joins a wait to entries. Most reads are requested by one check, so the entries that only it
 * wants share one list. */
export function join(entries: readonly Entry[], ticket: Ticket): void {
  const alone = [ticket];
  for (const entry of entries) {
    if (entry.batch !== undefined && entry.wantedBy.length === 0) entry.batch.wantedCount += 1;
    entry.wantedBy = entry.wantedBy.length === 0 ? alone : [...entry.wantedBy, ticket];
  }
}

export function leave(entry: Entry, ticket: Ticket): void {
  const others = entry.wantedBy.filter((other) => other !== ticket);
  entry.wantedBy = others.length === 0 ? NOBODY : others;
  if (entry.wantedBy.length > 0 || entry.batch === undefined) return;
  entry.batch.wantedCount -= 1;
  if (entry.batch.wantedCount === 0) entry.batch.controller.abort();
}

/** The observation of a read; if it is still open when its check must end, the failure of its last
 * attempt. */
export const observationOf = (entry: Entry): Observation =>
  entry.observation ?? entry.suspected ?? [entry.lastFailure ?? failed('deadline-exceeded')];

/**
 * Whether checks share the answer to a read. A batch shares only the reads that all of its entries
 * need: it reads each wallet once, so sharing the others would evict reads of single checks and
 * cost a key for each.
 */
export const isShared = ({ kind }: Read, lane: ReadLane): boolean =>
  lane !== 'batch' || kind === 'owner' || kind === 'decimals';

export const isAhead = (lane: ReadLane, other: ReadLane): boolean =>
  READ_LANES.indexOf(lane) < READ_LANES.indexOf(other);
