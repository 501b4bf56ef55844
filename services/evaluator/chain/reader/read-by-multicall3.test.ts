import { Interface } from 'ethers';
import { failed, type Read } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import type { Callable } from '../endpoints/endpoint.ts';
import type { Rpc, RpcRequest } from '../rpc/connect-rpc.ts';
import { type FailureKind, RpcFailure } from '../rpc/rpc-failure.ts';
import { MULTICALL3_ADDRESS, readByMulticall3 } from './read-by-multicall3.ts';
import { PERHAPS_OUT_OF_GAS } from './readings.ts';

const MULTICALL3 = new Interface([
  'function aggregate3((address target, bool allowFailure, bytes callData)[] calls) returns ((bool success, bytes returnData)[])',
  'function getBlockNumber() returns (uint256)',
]);
const word = (value: number) => value.toString(16).padStart(64, '0');
const block: Block = { number: 9, hash: `0x${word(99)}`, parentHash: `0x${word(98)}`, timestamp: 0 };
const contractOf = (n: number) => `0x${(0xc0_00 + n).toString(16).padStart(40, '0')}`;
const SOUND = contractOf(0);
const GAUGE = `0x${'5'.padStart(40, '0')}`;
const aRead = (contract: string, kind: 'owner' | 'balance' = 'balance'): Read => ({
  chainId: 1,
  kind,
  contract,
  account: `0x${'a1'.repeat(20)}`,
  id: 1n,
  key: contract,
});

function answerOf(target: string, calldata: string): [boolean, string] {
  if (target === MULTICALL3_ADDRESS) {
    const isNumber = calldata === MULTICALL3.encodeFunctionData('getBlockNumber');
    return [true, isNumber ? `0x${word(block.number)}` : block.parentHash];
  }
  if (target === GAUGE) return [true, `0x${'0'.repeat(1_024)}`];
  return target === SOUND ? [true, `0x${word(7)}`] : [false, '0x'];
}

/** An endpoint on which every contract but `SOUND` reverts; calls that confirm reverts fail as `confirmFailure`. */
function anEndpoint(confirmFailure?: FailureKind) {
  const counts = { calls: 0 };
  const answer = ({ params }: RpcRequest): string => {
    const [{ to, data }] = JSON.parse(params) as [{ to: string; data: string }];
    if (to !== MULTICALL3_ADDRESS) throw new RpcFailure('reverted');
    const [calls] = MULTICALL3.decodeFunctionData('aggregate3', data);
    const targets: string[] = calls.map(({ target }: { target: string }) => target.toLowerCase());
    if (confirmFailure !== undefined && targets.includes(GAUGE)) throw new RpcFailure(confirmFailure);
    const answers = targets.map((target, index) => answerOf(target, calls[index].callData));
    return MULTICALL3.encodeFunctionResult('aggregate3', [answers]);
  };
  const outcomeOf = (request: RpcRequest) => {
    try {
      return { ok: true, result: answer(request) };
    } catch (failure) {
      return { ok: false, failure };
    }
  };
  const rpc = {
    call: async (request: RpcRequest) => answer(request),
    callMany: async (requests: readonly RpcRequest[]) => requests.map(outcomeOf),
  } as unknown as Rpc;
  const endpoint = {
    limit: { current: 100 },
    async use(_signal: AbortSignal, send: (rpc: Rpc) => Promise<unknown>) {
      counts.calls += 1;
      return send(rpc);
    },
  } as unknown as Callable;
  const read = (reads: readonly Read[], isIsolated = false) =>
    readByMulticall3(endpoint, block, reads, { pin: 'hash', isIsolated }, new AbortController().signal);
  return { counts, read };
}

test('a call confirms the reverts of at most eight groups and leaves the others to isolated reads', async () => {
  const { read, counts } = anEndpoint();
  const reverting = Array.from({ length: 20 }, (_, n) => aRead(contractOf(n + 1)));
  const readings = await read([...reverting, aRead(SOUND)]);
  expect(counts.calls).toBe(1 + 8);
  expect(readings.slice(0, 8)).toEqual(reverting.slice(0, 8).map(() => failed('call-reverted')));
  expect(readings.slice(8, 20)).toEqual(reverting.slice(8).map(() => PERHAPS_OUT_OF_GAS));
  expect(readings[20]).toEqual({ ok: true, value: 7n });
});

test.each(['rate-limited', 'over-rate', 'timeout', 'unreachable', 'breaker-open', 'reverted'] as const)(
  'a confirmation that fails as %s leaves its revert open and keeps the other readings',
  async (kind) => {
    const reads = [aRead(contractOf(1)), aRead(contractOf(2), 'owner'), aRead(SOUND)];
    const readings = await anEndpoint(kind).read(reads);
    expect(readings).toEqual([PERHAPS_OUT_OF_GAS, PERHAPS_OUT_OF_GAS, { ok: true, value: 7n }]);
  },
);

test.each(['abandoned', 'block-mismatch'] as const)(
  'a confirmation that fails as %s fails the call',
  async (kind) => {
    await expect(anEndpoint(kind).read([aRead(contractOf(1)), aRead(SOUND)])).rejects.toThrow(kind);
  },
);

test('an isolated read whose confirmation is rate-limited fails as that, not as used-up gas', async () => {
  await expect(anEndpoint('rate-limited').read([aRead(contractOf(1))], true)).rejects.toThrow('rate-limited');
});
