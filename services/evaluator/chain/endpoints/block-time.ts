/** The block time of a chain that neither the chain file nor the list of known chains has, until it
 * is measured. */
const UNKNOWN_MS = 12_000;
/** Heads this far apart in time measure it. */
const SPAN_MS_MIN = 10_000;
/** A measurement begins anew after this time. */
const SPAN_MS_MAX = 120_000;
const BLOCK_TIME_MS_MIN = 50;

/** The time between two blocks of a chain: as configured, else measured from the heads that
 * arrive. */
export class BlockTime {
  readonly #configuredMs: number | undefined;
  #measuredMs: number | undefined;
  #first: { readonly number: number; readonly atMs: number } | undefined;

  constructor(configuredMs: number | undefined) {
    this.#configuredMs = configuredMs;
  }

  get ms(): number {
    return this.#configuredMs ?? this.#measuredMs ?? UNKNOWN_MS;
  }

  /** How many blocks the chain makes in this time, rounded up. */
  blocksIn(ms: number): number {
    return Math.ceil(ms / this.ms);
  }

  /** @param atMs when the head arrived, by the monotonic clock */
  note(number: number, atMs: number): void {
    const first = this.#first;
    if (first === undefined || number < first.number || atMs - first.atMs > SPAN_MS_MAX) {
      this.#first = { number, atMs };
      return;
    }
    const spanMs = atMs - first.atMs;
    if (spanMs >= SPAN_MS_MIN && number > first.number)
      this.#measuredMs = Math.max(BLOCK_TIME_MS_MIN, spanMs / (number - first.number));
  }
}
