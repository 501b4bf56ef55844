export type AppOwner = { readonly accountId: string; readonly clientId: string };

/** Who holds a share: one app of an account, or one that has no apps, such as the account itself or
 * a network address. */
export type Owner = string | AppOwner;

export const accountOf = (owner: Owner): string => (typeof owner === 'string' ? owner : owner.accountId);
/** Of its app, or of an owner without apps. */
export const ownerName = (owner: Owner): string => (typeof owner === 'string' ? owner : owner.clientId);

/** The part of the places that is kept for owners that hold none. */
const KEPT_PART = 1 / 4;

/**
 * The rule of `FairShares` for scripts of Redis: whether an owner whose account and app hold so many
 * of `countMax` places, of which all hold `held`, may take `count` more.
 */
export const LUA_HAS_ROOM = `
local function hasRoom(countMax, place, held, ofAccount, ofApp, count)
  local free = countMax - held
  if count > free then return false end
  if ofAccount + count <= place then return true end
  local earlier = count - 1
  local left = free - earlier - math.max(place, countMax * ${KEPT_PART}) - (ofAccount + earlier)
  return left > 0 and (ofApp + count <= place or ofApp + earlier < left)
end
`;

/**
 * Shares a number of places, or of bytes, between accounts, and the part of an account between its
 * apps.
 *
 * An account that holds none takes its first place while one is free. One that holds some takes
 * more only while it holds fewer than are free above a quarter of the places, so that quarter is
 * left for first places. An account alone gets three eighths, each of two a quarter, each of N
 * three quarters of one part in N + 1. Within an account the same holds for its apps: one that
 * holds some takes more only while it holds fewer than its account may still hold. Unused places
 * are not reserved. The rule is known from switches that share a buffer ("dynamic queue length
 * thresholds", Choudhury and Hahne, 1998).
 *
 * @example
 * const shares = new FairShares(512);
 * if (!shares.take(app)) refuse();
 * shares.give(app);
 */
export class FairShares {
  readonly #countMax: number;
  readonly #place: number;
  readonly #kept: number;
  readonly #byAccount = new Map<string, number>();
  readonly #byApp = new Map<string, number>();
  #count = 0;

  /** @param place where bytes are shared, the largest single item: so much is a first place */
  constructor(countMax: number, { place = 1 }: { readonly place?: number } = {}) {
    this.#countMax = countMax;
    this.#place = place;
    this.#kept = Math.max(place, countMax * KEPT_PART);
  }

  /** Places held by all owners together. */
  get count(): number {
    return this.#count;
  }

  heldBy(owner: Owner): number {
    return (typeof owner === 'string' ? this.#byAccount.get(owner) : this.#byApp.get(owner.clientId)) ?? 0;
  }

  /** Whether the owner may take `count`, one after the other. */
  hasRoom(owner: Owner, count = 1): boolean {
    const free = this.#countMax - this.#count;
    if (count > free) return false;
    const ofAccount = this.#byAccount.get(accountOf(owner)) ?? 0;
    if (ofAccount + count <= this.#place) return true;
    // Before the last one.
    const earlier = count - 1;
    const left = free - earlier - this.#kept - (ofAccount + earlier);
    if (left <= 0) return false;
    if (typeof owner === 'string') return true;
    const ofApp = this.heldBy(owner);
    return ofApp + count <= this.#place || ofApp + earlier < left;
  }

  /** Takes places; false, and none of them, if there is no room. */
  take(owner: Owner, count = 1): boolean {
    if (!this.hasRoom(owner, count)) return false;
    this.#change(owner, count);
    return true;
  }

  /** Frees places that the owner holds, at most those. */
  give(owner: Owner, count = 1): void {
    this.#change(owner, -Math.min(this.heldBy(owner), count));
  }

  #change(owner: Owner, by: number): void {
    this.#count += by;
    add(this.#byAccount, accountOf(owner), by);
    if (typeof owner !== 'string') add(this.#byApp, owner.clientId, by);
  }
}

/** A holder of nothing is forgotten. */
function add(held: Map<string, number>, name: string, by: number): void {
  const count = (held.get(name) ?? 0) + by;
  if (count === 0) held.delete(name);
  else held.set(name, count);
}
