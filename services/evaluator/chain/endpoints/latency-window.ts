/** Calls in the window. */
const SAMPLES_MAX = 128;
/** Fewer samples give no usable percentile. */
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

  /** The 95th percentile; `undefined` while there are too few samples. */
  get p95Ms(): number | undefined {
    if (this.#samples.length < SAMPLES_MIN) return undefined;
    this.#p95 ??= quantile(this.#samples, 0.95);
    return this.#p95;
  }

  /** The mean, for choosing between endpoints; 0 without samples, so that a new endpoint is
   * tried. */
  get meanMs(): number {
    const sum = this.#samples.reduce((total, sample) => total + sample, 0);
    return this.#samples.length === 0 ? 0 : sum / this.#samples.length;
  }
}

function quantile(samples: readonly number[], part: number): number | undefined {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}
