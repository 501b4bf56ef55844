type Options<V> = {
  readonly make: (clientId: string, origin: string) => V;
  /** Whether a value may be forgotten now. */
  readonly isIdle: (value: V) => boolean;
};

/** Values kept for all client apps, and for one. */
const REMEMBERED_MAX = 10_000;
const REMEMBERED_PER_APP_MAX = 1_000;

/**
 * One value for each receiver: a client app's callbacks at one origin. The number of values is bounded per client app,
 * so that an app with ever new origins evicts only its own values.
 *
 * @example
 * const breakers = new PerReceiver({ make: () => makeBreaker(scale), isIdle: () => true });
 * breakers.of('app_1', 'https://hooks.example').admit(nowMs);
 */
export class PerReceiver<V> {
  readonly #options: Options<V>;
  /** By client app and origin, the oldest first. */
  readonly #apps = new Map<string, Map<string, V>>();
  #count = 0;

  constructor(options: Options<V>) {
    this.#options = options;
  }

  get count(): number {
    return this.#count;
  }

  of(clientId: string, origin: string): V {
    const known = this.#apps.get(clientId)?.get(origin);
    if (known !== undefined) return known;
    const value = this.#options.make(clientId, origin);
    const app = this.#apps.get(clientId) ?? new Map<string, V>();
    if (app.size >= REMEMBERED_PER_APP_MAX) this.#forgetIdle(clientId, app);
    else if (this.#count >= REMEMBERED_MAX) this.#forgetOfLargest();
    app.set(origin, value);
    this.#apps.set(clientId, app);
    this.#count += 1;
    return value;
  }

  *values(): Generator<V> {
    for (const app of this.#apps.values()) yield* app.values();
  }

  #forgetOfLargest(): void {
    let largest: [string, Map<string, V>] | undefined;
    for (const entry of this.#apps) if (entry[1].size > (largest?.[1].size ?? 0)) largest = entry;
    if (largest) this.#forgetIdle(...largest);
  }

  /** Forgets idle values of an app, oldest first, until half of its values are left. */
  #forgetIdle(clientId: string, app: Map<string, V>): void {
    const sizeMax = Math.floor(app.size / 2);
    for (const [origin, value] of app) {
      if (app.size <= sizeMax) break;
      if (!this.#options.isIdle(value)) continue;
      app.delete(origin);
      this.#count -= 1;
    }
    if (app.size === 0) this.#apps.delete(clientId);
  }
}
