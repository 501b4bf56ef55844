import type { ReadLane } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import type { Entry } from './entry.ts';
import { FairQueue } from './fair-queue.ts';

/** Calldata of a call beyond this many bytes counts as further reads, so that no batch becomes too large to send. */
const BYTES_PER_READ = 256;
const weightOf = ({ read: { call } }: Entry): number =>
  call === undefined ? 1 : Math.max(1, Math.ceil(call.calldata.length / 2 / BYTES_PER_READ));

/** The reads of one block: all entries, and the queues of waiting ones. */
export class BlockReads {
  readonly block: Block;
  /** Whether only checks that named it by its number have requested it. */
  isPast = true;
  readonly entries = new Map<string, Entry>();
  readonly waiting: Readonly<Record<ReadLane | 'isolated', FairQueue<Entry>>> = {
    interactive: new FairQueue(),
    bulk: new FairQueue(),
    batch: new FairQueue(),
    isolated: new FairQueue(),
  };

  /** Reads that wait for an isolated-read slot of their client app. */
  pausedCount = 0;

  constructor(block: Block) {
    this.block = block;
  }

  /** Reads of single checks that share calls. */
  get sharedCount(): number {
    return this.waiting.interactive.size + this.waiting.bulk.size;
  }

  get waitingCount(): number {
    return this.sharedCount + this.waiting.batch.size + this.waiting.isolated.size + this.pausedCount;
  }

  queue(entry: Entry): void {
    this.waiting[entry.isIsolated ? 'isolated' : entry.lane].push(entry.clientId, entry);
  }

  /** Takes at most `max` reads that are still wanted: the interactive lane first; within a lane, clients take turns. */
  takeShared(max: number): Entry[] {
    const wanted = this.#makeFilter();
    const urgent = this.waiting.interactive.take(max, wanted, weightOf);
    const left = urgent.reduce((sum, entry) => sum - weightOf(entry), max);
    return [...urgent, ...this.waiting.bulk.take(left, wanted, weightOf)];
  }

  /** Takes reads of batches; their clients take turns. */
  takeBatch(max: number): Entry[] {
    return this.waiting.batch.take(max, this.#makeFilter(), weightOf);
  }

  takeIsolated(max: number): Entry[] {
    return this.waiting.isolated.take(max, this.#makeFilter());
  }

  /** Accepts each open and wanted read once; a read that no check waits for is deleted. */
  #makeFilter(): (entry: Entry) => boolean {
    const taken = new Set<Entry>();
    return (entry) => {
      if (entry.observation !== undefined || entry.batch !== undefined || taken.has(entry)) return false;
      if (entry.wantedBy.length === 0) {
        this.entries.delete(entry.read.key);
        return false;
      }
      taken.add(entry);
      return true;
    };
  }
}
