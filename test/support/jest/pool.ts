type PoolOptions<T> = {
  /** @param place how many there are with it */
  readonly start: (place: number) => Promise<T>;
  /** How many exist at a time; further borrowers wait. */
  readonly sizeMax: number;
  /** How many borrowers there will be: what nobody will need ends. */
  readonly borrowersMax: number;
};

/** Lends each of its items to one borrower after the other, and starts one where none is free. */
export class Pool<T extends AsyncDisposable> implements AsyncDisposable {
  readonly #options: PoolOptions<T>;
  #expected: number;
  #startedCount = 0;
  readonly #lent = new Map<string, Promise<T>>();
  readonly #free: Promise<T>[] = [];
  readonly #waiting: ((item: Promise<T>) => void)[] = [];
  readonly #ending = new Set<Promise<void>>();

  constructor(options: PoolOptions<T>) {
    this.#options = options;
    this.#expected = options.borrowersMax;
  }

  async borrow(borrower: string): Promise<T> {
    // A worker that crashed has returned nothing.
    this.return(borrower);
    this.#expected -= 1;
    const item = this.#free.pop() ?? this.#startOne() ?? new Promise<T>((give) => this.#waiting.push(give));
    this.#lent.set(borrower, item);
    return item;
  }

  return(borrower: string): void {
    const item = this.#lent.get(borrower);
    if (!item) return;
    this.#lent.delete(borrower);
    const next = this.#waiting.shift();
    if (next) next(item);
    else if (this.#free.length < this.#expected) this.#free.push(item);
    else this.#end(item);
  }

  #startOne(): Promise<T> | undefined {
    if (this.#startedCount >= this.#options.sizeMax) return undefined;
    this.#startedCount += 1;
    return this.#options.start(this.#startedCount);
  }

  /** Only the disposal waits for the end. */
  #end(item: Promise<T>): void {
    // One that failed to start has ended by itself.
    this.#ending.add(
      item.then(
        (one) => one[Symbol.asyncDispose](),
        () => undefined,
      ),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const item of [...this.#lent.values(), ...this.#free]) this.#end(item);
    await Promise.all(this.#ending);
  }
}
