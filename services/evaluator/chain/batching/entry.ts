import type { Lane } from '#shared/contracts/check-requested.ts';
import { type FailedReading, failed, type Observation, type Read } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';

/** One read of one block: waiting, on its way or answered, and shared by all who want it. */
export type Entry = {
  readonly read: Read;
  readonly lane: Lane;
  readonly clientId: string;
  /** Of the check that wanted it first. */
  readonly traceparent: string | undefined;
  observation: Observation | undefined;
  /** What it is told where it may not be read again: set once it failed in a way that too little gas could explain. */
  suspected: Observation | undefined;
  /** Whether it is read apart from all others, because it failed or burned gas before. */
  isIsolated: boolean;
  /** Whether the block was proved by the call that answered. */
  isProved: boolean;
  /** How the last attempt failed, for those who must end before there is an answer. */
  lastFailure: FailedReading | undefined;
  wantedBy: Ticket[];
  /** The call that carries it. */
  batch: Batch | undefined;
};

/** Reads of one block that go out together. */
export type Batch = {
  readonly block: Block;
  readonly entries: readonly Entry[];
  readonly isIsolated: boolean;
  /** Aborted when nobody waits for any of its entries any more. */
  readonly controller: AbortController;
  wantedCount: number;
};

/** A check's wait for its reads of one chain. */
export type Ticket = {
  openCount: number;
  readonly clientId: string;
  readonly isolatedReadBudget: IsolatedReadBudget;
  readonly done: () => void;
};

/** How many more reads of a check may be read again alone. */
export type IsolatedReadBudget = { readsLeft: number };
const ISOLATED_READS_PER_CHECK_MAX = 8;
export const newIsolatedReadBudget = (): IsolatedReadBudget => ({ readsLeft: ISOLATED_READS_PER_CHECK_MAX });

export function join(entry: Entry, ticket: Ticket): void {
  if (entry.batch !== undefined && entry.wantedBy.length === 0) entry.batch.wantedCount += 1;
  // Most reads are wanted by one check, and a list made of one takes a tenth of one that grew from nothing.
  if (entry.wantedBy.length === 0) entry.wantedBy = [ticket];
  else entry.wantedBy.push(ticket);
}

export function leave(entry: Entry, ticket: Ticket): void {
  entry.wantedBy = entry.wantedBy.filter((other) => other !== ticket);
  if (entry.wantedBy.length > 0 || entry.batch === undefined) return;
  entry.batch.wantedCount -= 1;
  if (entry.batch.wantedCount === 0) entry.batch.controller.abort();
}

/** What is known of a read; of one that is still open when its check must end, how its last attempt failed. */
export const observationOf = (entry: Entry): Observation =>
  entry.observation ?? entry.suspected ?? [entry.lastFailure ?? failed('deadline-exceeded')];
