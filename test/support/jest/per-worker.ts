/** One instance per jest worker, started at the worker's first request. */
export class PerWorker<T extends AsyncDisposable> implements AsyncDisposable {
  readonly #start: (worker: string) => Promise<T>;
  readonly #started = new Map<string, Promise<T>>();
  readonly #ending = new Set<Promise<void>>();

  constructor(start: (worker: string) => Promise<T>) {
    this.#start = start;
  }

  of(worker: string): Promise<T> {
    const started = this.#started.get(worker) ?? this.#start(worker);
    this.#started.set(worker, started);
    return started;
  }

  /** Ends a worker's instance; only the disposal waits for that. */
  end(worker: string): void {
    const started = this.#started.get(worker);
    this.#started.delete(worker);
    // An instance that failed to start has ended by itself.
    if (started)
      this.#ending.add(
        started.then(
          (one) => one[Symbol.asyncDispose](),
          () => undefined,
        ),
      );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of [...this.#started.keys()]) this.end(worker);
    await Promise.all(this.#ending);
  }
}
