import { anEndpoint } from '../../../../test/support/builders/an-endpoint.ts';
import { KeptHashes } from '../reader/state-identity.ts';
import type { Rpc, RpcRequest } from '../rpc/connect-rpc.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';
import { probeEndpoint } from './probe-endpoint.ts';

const HEADER = {
  number: '0x0',
  hash: `0x${'a'.repeat(64)}`,
  parentHash: `0x${'b'.repeat(64)}`,
  timestamp: '0x1',
};

/** An endpoint that refuses some requests for its rate, by their place, and every call. */
function aBusyEndpoint(isRefused: (place: number) => boolean) {
  const asked: string[] = [];
  const rpc = {
    async call({ method }: RpcRequest) {
      asked.push(method);
      if (isRefused(asked.length)) throw new RpcFailure('rate-limited', { retryAfterMs: 0 });
      if (method === 'eth_chainId') return '0x1';
      if (method === 'eth_getBlockByNumber') return HEADER;
      throw new RpcFailure('rpc-error', { isErrorAnswer: true });
    },
  };
  return { endpoint: anEndpoint(rpc), asked };
}

const { signal } = new AbortController();

test('a probe that an endpoint refuses for its rate goes on where it was, and does not begin anew', async () => {
  const { endpoint, asked } = aBusyEndpoint((place) => place % 2 === 0);
  await expect(probeEndpoint(endpoint, 1, new KeptHashes().of('0'), signal)).rejects.toMatchObject({
    kind: 'rpc-error',
  });
  expect(asked.filter((method) => method === 'eth_chainId')).toHaveLength(1);
  expect(asked.filter((method) => method === 'eth_getBlockByNumber')).toHaveLength(4);
});

test('a probe costs an endpoint that refuses everything three requests', async () => {
  const { endpoint, asked } = aBusyEndpoint(() => true);
  await expect(probeEndpoint(endpoint, 1, new KeptHashes().of('0'), signal)).rejects.toMatchObject({
    kind: 'rate-limited',
  });
  expect(asked).toEqual(['eth_chainId', 'eth_chainId', 'eth_chainId']);
});

test.each(['method-unsupported', 'too-large', 'malformed', 'reverted'] as const)(
  'an endpoint that answers a state override by %s is read in the next way',
  async (kind) => {
    const rpc: Partial<Rpc> = {
      async call({ method, params }) {
        if (method === 'eth_chainId') return '0x1';
        if (method === 'eth_getBlockByNumber') return HEADER;
        if (method === 'eth_getCode') return '0x';
        const [, , override] = JSON.parse(params) as unknown[];
        if (override !== undefined) throw new RpcFailure(kind, { isErrorAnswer: true });
        return '0x';
      },
    };
    expect(await probeEndpoint(anEndpoint(rpc), 1, new KeptHashes().of('0'), signal)).toMatchObject({
      method: 'plain',
      pin: 'hash',
    });
  },
);
