import { FairQueue } from '#shared/fairness/fair-queue.ts';
import { type AppOwner, FairShares } from '#shared/fairness/fair-shares.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';

/** Questions to wallets that are asked at once, of all client apps. */
const QUESTIONS_MAX = 16;
/** Of one client app, by all evaluators; of more than four each asks one. */
const QUESTIONS_OF_APP_MAX = 4;
/** Questions that wait; beyond, the longest queue loses its newest one. */
const WAITING_MAX = 1_024;

type Waiter = { readonly start: () => void; readonly refuse: () => void };

/**
 * Bounds the questions that one chain's wallets are asked at once: a client chooses the code that
 * they run, so the sign-ins of one must not use up the endpoints for the others.
 */
export class WalletCalls {
  readonly #shares = new FairShares(QUESTIONS_MAX);
  readonly #waiting = new FairQueue<Waiter>();
  readonly #poolSize: () => number;

  /** @param poolSize number of evaluators that share the bound of an app */
  constructor(poolSize: () => number) {
    this.#poolSize = poolSize;
  }

  /** @throws RpcFailure `over-rate` if too many questions wait, `abandoned` */
  async run<T>(owner: AppOwner, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    if (this.#mayAsk(owner)) this.#shares.take(owner);
    else await this.#wait(owner, signal);
    try {
      return await ask();
    } finally {
      this.#shares.give(owner);
      this.#startWaiting();
    }
  }

  #mayAsk(owner: AppOwner): boolean {
    const ofApp = Math.max(1, Math.floor(QUESTIONS_OF_APP_MAX / this.#poolSize()));
    return this.#shares.heldBy(owner) < ofApp && this.#shares.hasRoom(owner);
  }

  #startWaiting(): void {
    for (;;) {
      const next = this.#waiting.take((_, owner) => this.#mayAsk(owner as AppOwner));
      if (next === undefined) return;
      next.start();
    }
  }

  /** Resolves once a place was taken. */
  #wait(owner: AppOwner, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abandon = () => {
        this.#waiting.remove(owner, waiter);
        reject(new RpcFailure('abandoned'));
      };
      const waiter: Waiter = {
        start: () => {
          this.#shares.take(owner);
          signal.removeEventListener('abort', abandon);
          resolve();
        },
        refuse: () => {
          signal.removeEventListener('abort', abandon);
          reject(new RpcFailure('over-rate'));
        },
      };
      if (signal.aborted) return reject(new RpcFailure('abandoned'));
      signal.addEventListener('abort', abandon, { once: true });
      this.#waiting.push(owner, waiter);
      if (this.#waiting.size > WAITING_MAX) this.#waiting.drop(owner)?.refuse();
    });
  }
}
