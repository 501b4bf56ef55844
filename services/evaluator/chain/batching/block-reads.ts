import { FairQueue } from '#shared/fairness/fair-queue.ts';
import type { Read, ReadLane } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import { type Batch, type Entry, isShared } from './entry.ts';

/** Calldata of a call beyond this many bytes counts as further reads, so that no batch becomes too
 * large to send. */
const BYTES_PER_READ = 256;
const weightOf = ({ read: { call } }: Entry): number =>
  call === undefined ? 1 : Math.max(1, Math.ceil(call.calldata.length / 2 / BYTES_PER_READ));

/** The reads of one block, by checks that avoid the same endpoints: the shared entries by key, and
 * the queues of waiting ones. */
export class BlockReads {
  readonly block: Block;
  readonly avoid: readonly string[];
  /** Whether only checks that named it by its number have requested it. */
  isPast = true;
  readonly #shared = new Map<string, Entry>();
  readonly waiting: Readonly<Record<ReadLane, FairQueue<Entry>>> = {
    interactive: new FairQueue(),
    bulk: new FairQueue(),
    batch: new FairQueue(),
  };
  /** Reads that wait for a call apart from those of other checks. */
  apartCount = 0;
  callCount = 0;

  constructor(block: Block, avoid: readonly string[]) {
    this.block = block;
    this.avoid = avoid;
  }

  /** By block hash, so that a reorg cannot mix two blocks. */
  get name(): string {
    return nameOf(this.block, this.avoid);
  }

  /** Reads of single checks that share calls. */
  get sharedCount(): number {
    return this.waiting.interactive.size + this.waiting.bulk.size;
  }

  get waitingCount(): number {
    return this.sharedCount + this.waiting.batch.size + this.apartCount;
  }

  get isIdle(): boolean {
    return this.waitingCount === 0 && this.callCount === 0;
  }

  get sharedEntryCount(): number {
    return this.#shared.size;
  }

  /** The entry of an equal read that another check has requested. */
  find(read: Read, lane: ReadLane): Entry | undefined {
    return isShared(read, lane) ? this.#shared.get(read.key) : undefined;
  }

  add(entry: Entry): void {
    if (isShared(entry.read, entry.lane)) this.#shared.set(entry.read.key, entry);
  }

  delete(entry: Entry): void {
    if (isShared(entry.read, entry.lane)) this.#shared.delete(entry.read.key);
  }

  queue(entry: Entry): void {
    this.waiting[entry.lane].push(entry, entry);
  }

  /**
   * Takes at most `max` reads that are still wanted into a batch: the interactive lane first;
   * within a lane, clients take turns.
   */
  takeShared(batch: Batch, max: number): Entry[] {
    const wanted = this.makeFilter(batch);
    const urgent = this.waiting.interactive.takeMany(max, wanted, weightOf);
    const left = urgent.reduce((sum, entry) => sum - weightOf(entry), max);
    return [...urgent, ...this.waiting.bulk.takeMany(left, wanted, weightOf)];
  }

  /** Takes reads of batches; their clients take turns. */
  takeOfBatches(batch: Batch, max: number): Entry[] {
    return this.waiting.batch.takeMany(max, this.makeFilter(batch), weightOf);
  }

  /** Puts each open and wanted read into the batch, once; a read that no check waits for is
   * deleted. */
  makeFilter(batch: Batch): (entry: Entry) => boolean {
    return (entry) => {
      if (entry.observation !== undefined || entry.batch !== undefined) return false;
      if (entry.wantedBy.length === 0) {
        this.delete(entry);
        return false;
      }
      entry.batch = batch;
      entry.suspicion = undefined;
      return true;
    };
  }
}

/** Names the reads of a block by checks that avoid these endpoints. */
export const nameOf = ({ hash }: Block, avoid: readonly string[]): string =>
  avoid.length === 0 ? hash : `${hash} ${avoid.join()}`;
