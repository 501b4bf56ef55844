import type { Logger } from '#shared/telemetry/log.ts';
import type { ChainObserver } from '../chain/chain-observer.ts';
import type { EndpointHealth } from '../chain/endpoints/endpoint.ts';

const MESSAGES: Readonly<Record<EndpointHealth['state'], string>> = {
  starting: 'RPC endpoint is being probed',
  up: 'RPC endpoint is up',
  down: 'RPC endpoint is down',
  'wrong-chain': 'RPC endpoint serves another chain: correct its URL in the chain file',
  'rate-limited': 'RPC endpoint limits the rate of calls',
};

/** Logs each change of an endpoint's health. An endpoint is named by its name or position in the
 * chain file, never by its URL. */
export function makeHealthLog(log: Logger, chainId: number): ChainObserver['onHealth'] {
  return (endpoint, { state, reason, method }) => {
    const level = state === 'up' ? 'info' : 'warn';
    const index = Number(endpoint);
    log[level](
      { chainId, endpoint: Number.isNaN(index) ? endpoint : index, state, reason, method },
      MESSAGES[state],
    );
  };
}
