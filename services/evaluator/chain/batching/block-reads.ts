import type { Read, ReadLane } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import { type Batch, type Entry, isShared, type ReadWay } from './entry.ts';
import { FairQueue } from './fair-queue.ts';

/** Calldata of a call beyond this many bytes counts as further reads, so that no batch becomes too large to send. */
const BYTES_PER_READ = 256;
const weightOf = ({ read: { call } }: Entry): number =>
  call === undefined ? 1 : Math.max(1, Math.ceil(call.calldata.length / 2 / BYTES_PER_READ));

/** Reads of one contract that share a call of their own. */
export type Group = {
  readonly way: Extract<ReadWay, 'costly' | 'caller'>;
  readonly clientId: string;
  readonly entries: Entry[];
};
/** Reads that may join one group. */
const GROUP_READS_MAX = 40;

/** The reads of one block: the shared entries by key, and the queues of waiting ones. */
export class BlockReads {
  readonly block: Block;
  /** Whether only checks that named it by its number have requested it. */
  isPast = true;
  readonly #shared = new Map<string, Entry>();
  readonly waiting: Readonly<Record<ReadLane | 'isolated', FairQueue<Entry>>> = {
    interactive: new FairQueue(),
    bulk: new FairQueue(),
    batch: new FairQueue(),
    isolated: new FairQueue(),
  };

  /** Groups that further reads may join, by way, client app and contract. */
  readonly #openGroups = new Map<string, Group>();
  /** Groups whose call may go out. */
  readonly readyGroups: Group[] = [];
  /** Reads in groups. */
  #groupedCount = 0;
  /** Isolated reads that wait for a slot of their client app. */
  pausedCount = 0;
  /** Calls in flight. */
  callCount = 0;

  constructor(block: Block) {
    this.block = block;
  }

  /** Reads of single checks that share calls. */
  get sharedCount(): number {
    return this.waiting.interactive.size + this.waiting.bulk.size;
  }

  get waitingCount(): number {
    const { batch, isolated } = this.waiting;
    return this.sharedCount + batch.size + isolated.size + this.pausedCount + this.#groupedCount;
  }

  /** Calls for isolated reads and groups that could go out, at least. */
  get isolatedCount(): number {
    return this.waiting.isolated.size + this.readyGroups.length;
  }

  /** Whether none of its reads waits or is in flight. */
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
    this.waiting[entry.way === 'isolated' ? 'isolated' : entry.lane].push(entry, entry);
  }

  /**
   * Puts the read into the open group of its contract, or opens one.
   *
   * @returns the group if it was opened: its call must be scheduled
   */
  joinGroup(entry: Entry, way: Group['way'], clientId: string): Group | undefined {
    const key = `${way}/${clientId}/${entry.read.contract}`;
    const open = this.#openGroups.get(key);
    const group = open ?? { way, clientId, entries: [] };
    entry.way = way;
    group.entries.push(entry);
    this.#groupedCount += 1;
    if (group.entries.length >= GROUP_READS_MAX) this.#openGroups.delete(key);
    else this.#openGroups.set(key, group);
    return open === undefined ? group : undefined;
  }

  hasOpenGroup(read: Read, way: Group['way'], clientId: string): boolean {
    return this.#openGroups.has(`${way}/${clientId}/${read.contract}`);
  }

  /** Takes the reads of a ready group that are still wanted. */
  takeGroup(batch: Batch, group: Group): Entry[] {
    this.readyGroups.splice(this.readyGroups.indexOf(group), 1);
    for (const [key, open] of this.#openGroups) if (open === group) this.#openGroups.delete(key);
    this.#groupedCount -= group.entries.length;
    return group.entries.filter(this.#makeFilter(batch));
  }

  /**
   * Takes at most `max` reads that are still wanted into a batch: the interactive lane first; within a lane, clients take
   * turns.
   */
  takeShared(batch: Batch, max: number): Entry[] {
    const wanted = this.#makeFilter(batch);
    const urgent = this.waiting.interactive.take(max, wanted, weightOf);
    const left = urgent.reduce((sum, entry) => sum - weightOf(entry), max);
    return [...urgent, ...this.waiting.bulk.take(left, wanted, weightOf)];
  }

  /** Takes reads of batches; their clients take turns. */
  takeOfBatches(batch: Batch, max: number): Entry[] {
    return this.waiting.batch.take(max, this.#makeFilter(batch), weightOf);
  }

  takeIsolated(batch: Batch, max: number): Entry[] {
    return this.waiting.isolated.take(max, this.#makeFilter(batch));
  }

  /** Puts each open and wanted read into the batch, once; a read that no check waits for is deleted. */
  #makeFilter(batch: Batch): (entry: Entry) => boolean {
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
