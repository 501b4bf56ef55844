/** Calls that the measure looks back on. */
const SAMPLES_MAX = 128;
/** Fewer say nothing about a tail. */
const SAMPLES_MIN = 20;

/** The durations of an endpoint's last calls. */
export class LatencyWindow {
  readonly #samples: number[] = [];
  #next = 0;
  #p95: number | undefined;

  add(durationMs: number): void {
    this.#samples[this.#next] = durationMs;
    this.#next = (this.#next + 1) % SAMPLES_MAX;
    // Sorting 128 numbers on every eighth call is cheap, and the tail does not move faster.
    if (this.#next % 8 === 0) this.#p95 = undefined;
  }

  /** 95 of 100 calls took at most this many ms; `undefined` while too few were seen. */
  get p95Ms(): number | undefined {
    if (this.#samples.length < SAMPLES_MIN) return undefined;
    this.#p95 ??= quantile(this.#samples, 0.95);
    return this.#p95;
  }

  /** The mean, for choosing between endpoints; 0 while none was seen, so that a new one is tried. */
  get meanMs(): number {
    const sum = this.#samples.reduce((total, sample) => total + sample, 0);
    return this.#samples.length === 0 ? 0 : sum / this.#samples.length;
  }
}

function quantile(samples: readonly number[], part: number): number | undefined {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}
