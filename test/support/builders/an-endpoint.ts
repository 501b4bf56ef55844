import { Endpoint, type EndpointOptions } from '../../../services/evaluator/chain/endpoints/endpoint.ts';
import type { Rpc } from '../../../services/evaluator/chain/rpc/connect-rpc.ts';

/**
 * An endpoint without a rate, over an RPC client that the test plays, for unit tests.
 *
 * @example
 * anEndpoint({ call: async () => '0x1' });
 */
export const anEndpoint = (rpc: Partial<Rpc>, over: Partial<EndpointOptions> = {}): Endpoint =>
  new Endpoint({
    name: '0',
    rpc: rpc as Rpc,
    monotonicMs: () => 0,
    ...over,
  });
