import type { Endpoint } from '../../../services/evaluator/chain/endpoints/endpoint.ts';

/**
 * A pool of endpoints that are always ready and never hedged, for unit tests.
 *
 * @example
 * new Heads({ pool: poolOf([endpoint]), … });
 */
export const poolOf = (endpoints: readonly Endpoint[]) => ({
  candidates: () => [...endpoints],
  capabilitiesOf: async () => ({ method: 'reader', pin: 'hash', source: 'evm', fromBlock: 0 }) as const,
  hedgeAfterMs: () => undefined,
  readyInMs: () => undefined,
  spendHedge: () => undefined,
  whyNoCandidate: () => 'breaker-open' as const,
  ageMs: () => 0,
  distrustHeads: () => undefined,
  doubtHead: () => undefined,
  noteHead: (endpoint: Endpoint, { number }: { readonly number: number }) => {
    endpoint.headNumber = number;
  },
});
