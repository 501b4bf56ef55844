import { type FailureKind, RpcFailure } from '../rpc/rpc-failure.ts';

/** How a contract is followed; the reason in plain words. */
export type ContractState =
  | { readonly state: 'live' }
  | { readonly state: 'sweeps-only'; readonly reason: string };

const REASONS: Partial<Record<FailureKind, string>> = {
  'method-unsupported': 'No endpoint of the chain serves eth_getLogs.',
  'too-many-logs': 'The newest blocks have more logs than one read may return.',
  'chain-stale': 'The newest block of the chain is too old.',
  'rate-limited': 'The endpoints of the chain are rate-limited.',
  'over-rate': 'The endpoints of the chain are rate-limited.',
  'block-unavailable': 'No endpoint of the chain has the logs of the newest blocks yet.',
  timeout: 'No endpoint of the chain answered eth_getLogs in time.',
  malformed: 'No endpoint of the chain gave a correct answer to eth_getLogs.',
  'block-mismatch': 'The endpoints of the chain are on different forks.',
};
const REASON = 'No endpoint of the chain answered eth_getLogs.';
const NOT_RPC = 'Transfers cannot be published, because Redis or the broker does not answer.';

export const LIVE: ContractState = { state: 'live' };

export const sweepsOnly = (reason: string): ContractState => ({ state: 'sweeps-only', reason });

/** The state of contracts whose logs could not be read: a known reason, or else the endpoint's own
 * words. */
export function stateOfFailure(error: unknown): ContractState {
  if (!(error instanceof RpcFailure)) return sweepsOnly(NOT_RPC);
  const { kind, words } = error;
  const said =
    words === undefined ? REASON : `No endpoint of the chain returns the logs; the last one said: ${words}`;
  return sweepsOnly(REASONS[kind] ?? said);
}

/**
 * A state is written again after this time: a contract that no watch followed for a moment has lost
 * its state, and the reader may not have seen that moment.
 */
const WRITTEN_MS_MAX = 20_000;

/** The contracts' states as they were last written; mostly changes alone are written. */
export class ContractStates {
  readonly #write: (contract: string, state: ContractState) => Promise<void>;
  /** The monotonic clock, ms. */
  readonly #now: () => number;
  readonly #written = new Map<string, string>();
  #forgottenAtMs = Number.NEGATIVE_INFINITY;

  constructor(write: (contract: string, state: ContractState) => Promise<void>, now: () => number) {
    this.#write = write;
    this.#now = now;
  }

  async set(contracts: readonly string[], state: ContractState): Promise<void> {
    const nowMs = this.#now();
    if (nowMs - this.#forgottenAtMs >= WRITTEN_MS_MAX) {
      this.#written.clear();
      this.#forgottenAtMs = nowMs;
    }
    const text = JSON.stringify(state);
    const changed = contracts.filter((contract) => this.#written.get(contract) !== text);
    await Promise.all(changed.map((contract) => this.#write(contract, state)));
    for (const contract of changed) this.#written.set(contract, text);
  }

  /** Forgets the states of all other contracts: they are not followed any more. */
  keepOnly(contracts: readonly string[]): void {
    const kept = new Set(contracts);
    for (const contract of this.#written.keys()) if (!kept.has(contract)) this.#written.delete(contract);
  }
}
