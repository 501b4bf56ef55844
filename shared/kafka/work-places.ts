/** What one partition takes of the places that all partitions share. */
export type PlacesTaken = { runningCount: number; parkedCount: number };

/** The place of one record that is being worked. */
export type WorkPlace = {
  /**
   * Gives the run place to another record because this one's work only waits; once, and only while a parking place
   * is free.
   *
   * @param leave called when the process stops: the wait is to end, the record is left to its next owner
   * @returns whether it is parked now
   */
  readonly park: (leave: () => void) => boolean;
  /** The work is over: the place is free. */
  readonly end: () => void;
};

export type WorkPlacesBounds = {
  /** Records worked at once, over all partitions. */
  readonly runningMax: number;
  /** Records whose work waits for something outside of the process, beside these. */
  readonly parkedMax: number;
  /** The same in bytes of their values. */
  readonly parkedBytesMax: number;
};

/**
 * The places of the records that a consumer works at once.
 *
 *   running ──park──► parked ──end──► free
 *      └───────────────end──────────────┘
 *
 * A partition may have as many running as there are free places (and likewise parked): a backlog in one of them
 * takes half of all, one in each of four takes four fifths, and some are always left to the others. The rule is
 * known from switches that share a buffer ("dynamic queue length thresholds", Choudhury and Hahne, 1998).
 */
export class WorkPlaces {
  readonly #bounds: WorkPlacesBounds;
  readonly #parked = new Set<() => void>();
  #runningCount = 0;
  #parkedBytes = 0;

  constructor(bounds: WorkPlacesBounds) {
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
  mayRun({ runningCount }: PlacesTaken): boolean {
    return runningCount < this.#bounds.runningMax - this.#runningCount;
  }

  /** A record's work begins; whether it may is asked before, by `mayRun`. */
  enter(taken: PlacesTaken, bytes: number): WorkPlace {
    this.#run(taken, 1);
    let leave: (() => void) | undefined;
    return {
      park: (leaveNow) => {
        if (leave !== undefined) return true;
        if (!this.#mayPark(taken, bytes)) return false;
        // A function of its own, because two records may share one.
        leave = () => leaveNow();
        this.#run(taken, -1);
        this.#park(taken, leave, bytes);
        return true;
      },
      end: () => {
        if (leave === undefined) return this.#run(taken, -1);
        this.#parked.delete(leave);
        this.#parkedBytes -= bytes;
        taken.parkedCount -= 1;
      },
    };
  }

  /** Ends the waits of all that are parked. */
  leaveAll(): void {
    for (const leave of [...this.#parked]) leave();
  }

  #mayPark({ parkedCount }: PlacesTaken, bytes: number): boolean {
    const { parkedMax, parkedBytesMax } = this.#bounds;
    return parkedCount < parkedMax - this.#parked.size && this.#parkedBytes + bytes <= parkedBytesMax;
  }

  #run(taken: PlacesTaken, count: 1 | -1): void {
    taken.runningCount += count;
    this.#runningCount += count;
  }

  #park(taken: PlacesTaken, leave: () => void, bytes: number): void {
    this.#parked.add(leave);
    this.#parkedBytes += bytes;
    taken.parkedCount += 1;
  }
}
