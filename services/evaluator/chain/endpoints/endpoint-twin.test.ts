import { partially } from '../../../../test/support/builders/partially.ts';
import type { Rpc } from '../rpc/connect-rpc.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';
import { Endpoint } from './endpoint.ts';

const signal = new AbortController().signal;
const call = (endpoint: Endpoint, ownSignal = signal) =>
  endpoint
    .use(ownSignal, (rpc) => rpc.call({ method: 'eth_call', params: '[]' }, signal))
    .catch(() => undefined);

test('a twin leaves no trace at its endpoint: no failure, no strike, no doubt, no metric', async () => {
  let calls = 0;
  const noted: string[] = [];
  const endpoint = new Endpoint({
    name: '0',
    rpc: partially<Rpc>({
      call: async () => {
        calls++;
        throw new RpcFailure('wrong-chain');
      },
    }),
    onCall: (result) => noted.push(result),
    onDoubt: () => noted.push('doubt'),
    monotonicMs: () => 0,
  });
  const twin = endpoint.twin();
  await call(twin);
  expect([calls, noted, endpoint.breakerState, endpoint.strikes]).toEqual([1, [], 'closed', 0]);
  await call(endpoint);
  expect([noted, endpoint.breakerState]).toEqual([['wrong-chain'], 'open']);
});

test('a twin takes a quarter of the rate at most, and what it takes the endpoint does not have', async () => {
  let sent = 0;
  const endpoint = new Endpoint({
    name: '0',
    rpc: partially<Rpc>({ call: async () => ++sent }),
    rateShare: () => 8,
    monotonicMs: () => 0,
  });
  const twin = endpoint.twin();
  // A call that would wait for the rate is abandoned instead.
  const callNow = (of: Endpoint) => call(of, AbortSignal.abort());
  for (let i = 0; i < 8; i++) await callNow(twin);
  expect(sent).toBe(2);
  for (let i = 0; i < 8; i++) await callNow(endpoint);
  expect(sent).toBe(8);
});
