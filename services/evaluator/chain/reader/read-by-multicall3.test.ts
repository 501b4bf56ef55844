import { Interface } from 'ethers';
import fc from 'fast-check';
import { DECIDING_REVERT, failed, type Read } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import type { Callable } from '../endpoints/endpoint.ts';
import type { Rpc, RpcRequest } from '../rpc/connect-rpc.ts';
import { type FailureKind, RpcFailure } from '../rpc/rpc-failure.ts';
import {
  decodeAggregate3,
  encodeAggregate3,
  MULTICALL3_ADDRESS,
  readByMulticall3,
} from './read-by-multicall3.ts';
import type { BlockSource } from './reader-codec.ts';
import { PERHAPS_OUT_OF_GAS } from './readings.ts';
import { KeptHashes } from './state-identity.ts';

const MULTICALL3 = new Interface([
  'function aggregate3((address target, bool allowFailure, bytes callData)[] calls) returns ((bool success, bytes returnData)[])',
  'function getBlockNumber() returns (uint256)',
]);
const hexBytes = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((bytes) => Buffer.from(bytes).toString('hex'));
const anAddress = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);

test('calldata equals that of the codec of ethers', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ target: anAddress, calldata: hexBytes(100) }), { maxLength: 10 }),
      (calls) => {
        const tuples = calls.map(({ target, calldata }) => [target, true, `0x${calldata}`]);
        expect(encodeAggregate3(calls.map((call) => [call, 1]))).toBe(
          MULTICALL3.encodeFunctionData('aggregate3', [tuples]),
        );
      },
    ),
  );
});

const anAnswer = fc.record({ success: fc.boolean(), data: hexBytes(100) });
const encodeAnswers = (answers: readonly { success: boolean; data: string }[]) =>
  MULTICALL3.encodeFunctionResult('aggregate3', [answers.map(({ success, data }) => [success, `0x${data}`])]);

test('a call that is made several times is written once, and decodes to as many calls', () => {
  const once = { target: `0x${'a1'.repeat(20)}`, calldata: '0102' };
  const last = { target: `0x${'b2'.repeat(20)}`, calldata: '', isRequired: true };
  const encoded = encodeAggregate3([
    [once, 3],
    [last, 1],
  ]);
  const [calls] = MULTICALL3.decodeFunctionData('aggregate3', encoded);
  const asText = calls.map(([target, allowFailure, data]: [string, boolean, string]) =>
    [target.toLowerCase(), allowFailure, data].join(' '),
  );
  expect(asText).toEqual([...Array(3).fill(`${once.target} true 0x0102`), `${last.target} false 0x`]);
});

test('an answer is read as the codec of ethers wrote it', () => {
  fc.assert(
    fc.property(fc.array(anAnswer, { maxLength: 10 }), (answers) => {
      expect(decodeAggregate3(encodeAnswers(answers), answers.length)).toEqual(answers);
    }),
  );
});

test('an answer that was cut or changed is refused or read within its bounds, and never throws', () => {
  const aChange = fc.record({ at: fc.nat(2_000), digit: fc.constantFrom(...'0123456789abcdef') });
  fc.assert(
    fc.property(
      fc.array(anAnswer, { maxLength: 5 }),
      fc.array(aChange, { maxLength: 4 }),
      (answers, changes) => {
        let text = encodeAnswers(answers);
        for (const { at, digit } of changes) {
          const place = 2 + (at % Math.max(1, text.length - 2));
          text = text.slice(0, place) + digit + text.slice(place + 1);
        }
        const decoded = decodeAggregate3(text, answers.length);
        for (const { data } of decoded ?? []) expect(data.length).toBeLessThanOrEqual(text.length);
        expect(decodeAggregate3(text.slice(0, -64), answers.length + 1)).toBeUndefined();
      },
    ),
  );
});

const word = (value: number) => value.toString(16).padStart(64, '0');
const block: Block = { number: 9, hash: `0x${word(99)}`, parentHash: `0x${word(98)}`, timestamp: 0 };
const contractOf = (n: number) => `0x${(0xc0_00 + n).toString(16).padStart(40, '0')}`;
const SOUND = contractOf(0);
/** `Error("Multicall3: call failed")`: the answer of the gas gauge, which calls Multicall3
 * itself. */
const GAUGED = new Interface(['function Error(string)']).encodeFunctionData('Error', [
  'Multicall3: call failed',
]);
const aRead = (contract: string, kind: 'owner' | 'balance' = 'balance'): Read => ({
  chainId: 1,
  kind,
  contract,
  account: `0x${'a1'.repeat(20)}`,
  id: 1n,
  key: contract,
});

const BURN = `0x${'6'.padStart(40, '0')}`;
/** Whether a call is one of `aggregate3` within `aggregate3`. */
const isGauge = (target: string, calldata: string) =>
  target === MULTICALL3_ADDRESS && calldata.startsWith('0x82ad56cb');

/** Arbitrum's ArbSys: `arbBlockNumber()`, and `arbBlockHash(uint256)` of the parent. */
const ARBSYS = `0x${'64'.padStart(40, '0')}`;

function answerOf(target: string, calldata: string): [boolean, string] {
  if (target === ARBSYS && calldata === '0xa3b1b31d') return [true, `0x${word(block.number)}`];
  if (target === ARBSYS) return [calldata === `0x2b407a82${word(block.number - 1)}`, block.parentHash];
  if (isGauge(target, calldata)) return [false, GAUGED];
  if (target === MULTICALL3_ADDRESS) {
    const isNumber = calldata === MULTICALL3.encodeFunctionData('getBlockNumber');
    return [true, isNumber ? `0x${word(block.number)}` : block.parentHash];
  }
  return target === SOUND ? [true, `0x${word(7)}`] : [false, '0x'];
}

type FakeOptions = {
  /** How the calls fail that ask a contract for ERC165. */
  readonly proofFailure?: FailureKind;
  /** Reads of one call for which the gas is enough; behind more of them the gauge fails, and the
   * last one answers 0. */
  readonly readsMax?: number;
};

/** An endpoint on which every contract but `SOUND` reverts. */
function anEndpoint({ proofFailure, readsMax = Number.POSITIVE_INFINITY }: FakeOptions = {}) {
  const counts = { calls: 0 };
  const asked: string[] = [];
  const answer = ({ params }: RpcRequest): string => {
    const [{ to, data }] = JSON.parse(params) as [{ to: string; data: string }];
    if (to !== MULTICALL3_ADDRESS) throw new RpcFailure('reverted');
    const [calls] = MULTICALL3.decodeFunctionData('aggregate3', data);
    const targets: string[] = calls.map(({ target }: { target: string }) => target.toLowerCase());
    asked.push(...targets);
    const isProof = calls.some(({ callData }: { callData: string }) => callData.startsWith('0x01ffc9a7'));
    if (proofFailure !== undefined && isProof) throw new RpcFailure(proofFailure);
    const answers = targets.map((target, index) => answerOf(target, calls[index].callData));
    const notReads = [MULTICALL3_ADDRESS, BURN, ARBSYS];
    const readCount = targets.filter((target) => !notReads.includes(target)).length;
    if (readCount > readsMax) answers.splice(-3, 3, [true, `0x${word(0)}`], [false, '0x'], [false, '0x']);
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
  const read = (reads: readonly Read[], isIsolated = false, source: BlockSource = 'evm') =>
    readByMulticall3(
      endpoint,
      block,
      reads,
      { pin: 'hash', source, isIsolated, identify: new KeptHashes().of('0'), hasHistory: false },
      new AbortController().signal,
    ).then(({ readings }) => readings);
  return { counts, asked, read };
}

test('a call asks at most eight contracts for ERC165 and leaves the others to isolated reads', async () => {
  const { read, counts } = anEndpoint();
  const disowned = Array.from({ length: 20 }, (_, n) => aRead(contractOf(n + 1), 'owner'));
  const readings = await read([...disowned, aRead(SOUND), aRead(contractOf(1))]);
  expect(counts.calls).toBe(1 + 8);
  expect(readings).toEqual([
    ...disowned.slice(0, 8).map(() => DECIDING_REVERT),
    ...disowned.slice(8).map(() => PERHAPS_OUT_OF_GAS),
    { ok: true, value: 7n },
    failed('call-reverted'),
  ]);
});

test.each(['rate-limited', 'over-rate', 'timeout', 'unreachable', 'breaker-open', 'reverted'] as const)(
  'a question for ERC165 that fails as %s leaves its revert open and keeps the other readings',
  async (proofFailure) => {
    const reads = [aRead(contractOf(1)), aRead(contractOf(2), 'owner'), aRead(SOUND)];
    const readings = await anEndpoint({ proofFailure }).read(reads);
    expect(readings).toEqual([failed('call-reverted'), PERHAPS_OUT_OF_GAS, { ok: true, value: 7n }]);
  },
);

test.each(['abandoned', 'block-mismatch', 'block-hash-mismatch'] as const)(
  'a question for ERC165 that fails as %s fails the call',
  async (proofFailure) => {
    const reads = [aRead(contractOf(1), 'owner'), aRead(SOUND)];
    await expect(anEndpoint({ proofFailure }).read(reads)).rejects.toThrow(proofFailure);
  },
);

test('an isolated read whose question for ERC165 is rate-limited fails as that, not as used-up gas', async () => {
  const { read } = anEndpoint({ proofFailure: 'rate-limited' });
  await expect(read([aRead(contractOf(1), 'owner')], true)).rejects.toThrow('rate-limited');
});

test('a group whose calls leave too little gas is halved, and a value that came last in it is not believed', async () => {
  const reads = Array.from({ length: 34 }, () => aRead(SOUND));
  const halved = anEndpoint({ readsMax: 20 });
  expect(await halved.read(reads)).toEqual(reads.map(() => ({ ok: true, value: 7n })));
  const { counts, read } = anEndpoint({ readsMax: 5 });
  expect(await read(reads)).toEqual(reads.map(() => PERHAPS_OUT_OF_GAS));
  expect(counts.calls).toBe(2);
});

test('an isolated read that leaves too little gas has used up its gas, whatever it answers', async () => {
  const { read } = anEndpoint({ readsMax: 1 });
  expect(await read([aRead(SOUND)], true)).toEqual([failed('gas-exhausted')]);
});

test('ArbSys proves the block where the EVM counts the blocks of another chain', async () => {
  const { read, asked } = anEndpoint();
  expect(await read([aRead(SOUND)], false, 'arbsys')).toEqual([{ ok: true, value: 7n }]);
  expect(asked.filter((target) => target === ARBSYS)).toHaveLength(2);
});
