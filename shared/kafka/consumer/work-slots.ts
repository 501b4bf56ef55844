import { FairShares, type Owner } from '../../fairness/fair-shares.ts';

export type WorkSlot = {
  /**
   * Frees the running slot for another record because this record only waits; only while a parking
   * slot is free.
   *
   * @returns whether the record is parked now
   */
  readonly park: () => boolean;
  /** The record is finished or left: the slot is free. */
  readonly release: () => void;
};

/** Records, and the bytes of their values. */
type Bounds = { readonly countMax: number; readonly bytesMax: number };

/** The largest record; the little by which the framing of a record exceeds this is not counted. */
const RECORD_BYTES_MAX = 4 * 1024 * 1024;

class Slots {
  readonly count: FairShares;
  readonly #bytes: FairShares;

  constructor({ countMax, bytesMax }: Bounds) {
    this.count = new FairShares(countMax);
    this.#bytes = new FairShares(bytesMax, { place: Math.min(RECORD_BYTES_MAX, bytesMax) });
  }

  hasRoom(owner: Owner, bytes: number): boolean {
    return this.count.hasRoom(owner) && this.#bytes.hasRoom(owner, bytes);
  }

  take(owner: Owner, bytes: number): boolean {
    return this.hasRoom(owner, bytes) && this.count.take(owner) && this.#bytes.take(owner, bytes);
  }

  give(owner: Owner, bytes: number): void {
    this.count.give(owner);
    this.#bytes.give(owner, bytes);
  }
}

/**
 * The slots of the records that a consumer processes at once.
 *
 *   running ──park──► parked ──release──► free
 *      └───────────────release──────────────┘
 *
 * Both kinds are shared by their owners: the accounts and client apps of the records, or their
 * partitions.
 */
export class WorkSlots {
  readonly #runningMax: number;
  readonly #running: Slots;
  readonly #parked: Slots;

  constructor(running: Bounds, parked: Bounds) {
    this.#runningMax = running.countMax;
    this.#running = new Slots(running);
    this.#parked = new Slots(parked);
  }

  get runningCount(): number {
    return this.#running.count.count;
  }

  get parkedCount(): number {
    return this.#parked.count.count;
  }

  get isFull(): boolean {
    return this.runningCount >= this.#runningMax;
  }

  mayRun(owner: Owner, bytes: number): boolean {
    return this.#running.hasRoom(owner, Math.min(bytes, RECORD_BYTES_MAX));
  }

  /** Takes a running slot. A record that must run although there is none is not counted. */
  acquire(owner: Owner, recordBytes: number): WorkSlot {
    const bytes = Math.min(recordBytes, RECORD_BYTES_MAX);
    let held = this.#running.take(owner, bytes) ? this.#running : undefined;
    return {
      park: () => {
        if (held === this.#parked) return true;
        if (!this.#parked.take(owner, bytes)) return false;
        held?.give(owner, bytes);
        held = this.#parked;
        return true;
      },
      release: () => held?.give(owner, bytes),
    };
  }
}
