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
