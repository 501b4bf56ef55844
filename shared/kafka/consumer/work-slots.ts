/** The slots that one partition holds of those that all partitions share. */
export type SlotsHeld = { runningCount: number; runningBytes: number; parkedCount: number };

/** The slot of one record that is being processed. */
export type WorkSlot = {
  /**
   * Frees the running slot for another record because this record only waits; only while a parking slot is free.
   *
   * @param leave called when the process stops: the wait must end, and the record is left to its next owner. That of a later
   *   call replaces it
   * @returns whether the record is parked now
   */
  readonly park: (leave: () => void) => boolean;
  /** The record is finished or left: the slot is free. */
  readonly release: () => void;
};

type WorkSlotBounds = {
  /** Records that run at once, over all partitions. */
  readonly runningMax: number;
  /** The same, in bytes of their values; one record more may run. */
  readonly runningBytesMax: number;
  /** Records that wait for something outside of the process, in addition to the running ones. */
  readonly parkedMax: number;
  /** The same, in bytes of their values. */
  readonly parkedBytesMax: number;
};

/**
 * The slots of the records that a consumer processes at once.
 *
 *   running ──park──► parked ──release──► free
 *      └───────────────release──────────────┘
 *
 * A partition may hold as many running slots as are free (and as many bytes, and parking slots): one partition with a backlog takes
 * half of all, four take four fifths, and some are always left to the others. Switches share a buffer by the same rule
 * ("dynamic queue length thresholds", Choudhury and Hahne, 1998).
 */
export class WorkSlots {
  readonly #bounds: WorkSlotBounds;
  readonly #parked = new Set<() => void>();
  #runningCount = 0;
  #runningBytes = 0;
  #parkedBytes = 0;

  constructor(bounds: WorkSlotBounds) {
    this.#bounds = bounds;
  }

  get runningCount(): number {
    return this.#runningCount;
  }

  get parkedCount(): number {
    return this.#parked.size;
  }

  get isFull(): boolean {
    return this.#runningCount >= this.#bounds.runningMax;
  }

  /** Whether one more record of a partition may run. */
  mayRun({ runningCount, runningBytes }: SlotsHeld): boolean {
    const { runningMax, runningBytesMax } = this.#bounds;
    return (
      runningCount < runningMax - this.#runningCount && runningBytes < runningBytesMax - this.#runningBytes
    );
  }

  /** Takes a running slot. The caller asks `mayRun` first. */
  acquire(held: SlotsHeld, bytes: number): WorkSlot {
    this.#addRunning(held, 1, bytes);
    let leave: (() => void) | undefined;
    let leaveNow: () => void;
    return {
      park: (next) => {
        leaveNow = next;
        if (leave !== undefined) return true;
        if (!this.#mayPark(held, bytes)) return false;
        // A new function for each record: two records may pass the same one.
        leave = () => leaveNow();
        this.#addRunning(held, -1, -bytes);
        this.#parked.add(leave);
        this.#parkedBytes += bytes;
        held.parkedCount += 1;
        return true;
      },
      release: () => {
        if (leave === undefined) return this.#addRunning(held, -1, -bytes);
        this.#parked.delete(leave);
        this.#parkedBytes -= bytes;
        held.parkedCount -= 1;
      },
    };
  }

  /** Ends the waits of all parked records. */
  leaveParked(): void {
    for (const leave of [...this.#parked]) leave();
  }

  #mayPark({ parkedCount }: SlotsHeld, bytes: number): boolean {
    const { parkedMax, parkedBytesMax } = this.#bounds;
    return parkedCount < parkedMax - this.#parked.size && this.#parkedBytes + bytes <= parkedBytesMax;
  }

  #addRunning(held: SlotsHeld, count: 1 | -1, bytes: number): void {
    held.runningCount += count;
    held.runningBytes += bytes;
    this.#runningCount += count;
    this.#runningBytes += bytes;
  }
}
