import type { ServerResponse } from 'node:http';
import { accountOf, FairShares, type Owner } from '#shared/fairness/fair-shares.ts';

type Options = {
  /** Requests of owners answered at once, and of senders that are not known. */
  readonly countMax: number;
  /** Memory of their bodies and answers, and the most that one body has. Default: not counted. */
  readonly bytes?: { readonly max: number; readonly ofOneMax: number };
  readonly observe: (count: number) => void;
};

type Entry = { owner?: Owner; holder?: Owner; bytes: number };

/**
 * The requests that are being answered: each from its entry until its connection closes, it is
 * answered, or it leaves.
 *
 *   entered ──assign──► of an owner ──leave, close──► gone
 *      └────────────────leave, close──────────────────┘
 *
 * They are bounded by their number, and by the memory of their bodies and answers, from `hold`
 * until `free` or the end: clients choose its size. Those that have no owner yet have a bound of
 * their own: a burst whose keys are looked up at the same time must not take the places that
 * others' shares leave.
 */
export class InFlight {
  readonly #options: Options;
  readonly #entries = new Map<ServerResponse, Entry>();
  /** Whose answers are counted, the oldest first. */
  readonly #answered = new Set<ServerResponse>();
  readonly #shares: FairShares;
  readonly #bytes: FairShares | undefined;

  constructor(options: Options) {
    const { countMax, bytes } = options;
    this.#options = options;
    this.#shares = new FairShares(countMax);
    this.#bytes = bytes && new FairShares(bytes.max, { place: bytes.ofOneMax });
  }

  /** Counts a request in; false if too many have no owner. */
  enter(response: ServerResponse): boolean {
    if (this.#entries.size - this.#shares.count >= this.#options.countMax) return false;
    this.#entries.set(response, { bytes: 0 });
    this.#options.observe(this.#entries.size);
    response.once('close', () => this.leave(response));
    return true;
  }

  /** Assigns a request to its owner; false if the owner has used its share. */
  assign(response: ServerResponse, owner: Owner): boolean {
    const entry = this.#entries.get(response);
    if (entry === undefined) return true;
    if (!this.#shares.take(owner)) return false;
    entry.owner = owner;
    return true;
  }

  /**
   * Counts more memory of a request's body or answer; false if its owner has used its share.
   *
   * @param visitor who holds it where the request has no owner. Default: nobody, and it is not
   *   counted
   */
  hold(response: ServerResponse, bytes: number, visitor?: Owner): boolean {
    const entry = this.#entries.get(response);
    const holder = entry?.owner ?? visitor;
    if (entry === undefined || holder === undefined || this.#bytes === undefined) return true;
    if (!this.#bytes.take(holder, bytes)) return false;
    entry.holder = holder;
    entry.bytes += bytes;
    return true;
  }

  /**
   * As `hold`, for an answer, until the client has read it.
   *
   * @param isDue whether older answers of the account make room for it: their connections end
   */
  holdAnswer(
    response: ServerResponse,
    bytes: number,
    { visitor, isDue }: { readonly visitor: Owner; readonly isDue: boolean },
  ): boolean {
    const account = accountOf(this.#entries.get(response)?.owner ?? visitor);
    while (!this.hold(response, bytes, visitor)) {
      const oldest = isDue ? this.#oldestAnswerOf(account) : undefined;
      if (oldest === undefined) return false;
      this.leave(oldest);
      // An answer behind another one on its connection would keep its text if only it were
      // destroyed.
      oldest.req.socket.destroy();
    }
    this.#answered.add(response);
    return true;
  }

  #oldestAnswerOf(account: string): ServerResponse | undefined {
    return this.#answered.values().find((response) => {
      const holder = this.#entries.get(response)?.holder;
      return holder !== undefined && accountOf(holder) === account;
    });
  }

  /** The request needs its body no more. */
  free(response: ServerResponse): void {
    const entry = this.#entries.get(response);
    if (entry?.holder === undefined || entry.bytes === 0) return;
    this.#bytes?.give(entry.holder, entry.bytes);
    entry.bytes = 0;
  }

  /** Counts a request out, at the latest when its connection closes. */
  leave(response: ServerResponse): void {
    this.free(response);
    this.#answered.delete(response);
    const entry = this.#entries.get(response);
    if (!this.#entries.delete(response)) return;
    if (entry?.owner !== undefined) this.#shares.give(entry.owner);
    this.#options.observe(this.#entries.size);
  }
}
