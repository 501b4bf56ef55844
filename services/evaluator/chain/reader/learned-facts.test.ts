import { DECIDING_REVERT, failed, type Read, type Reading } from '../../domain/read.ts';
import type { Block } from '../blocks/block.ts';
import type { Rpc, RpcRequest } from '../rpc/connect-rpc.ts';
import { type FailureKind, RpcFailure } from '../rpc/rpc-failure.ts';
import { CallerProofs, CodeProofs, NativeSource } from './learned-facts.ts';
import { NOT_OWNED, NOTHING, PERHAPS_FOR_CONTRACTS, PERHAPS_NOT_OWNED } from './readings.ts';

const CONTRACT = `0x${'aa'.repeat(20)}`;
const READ = { kind: 'balance', contract: CONTRACT } as Read;
const blockOf = (number: number) => ({ number, hash: `0x${number}` }) as Block;

test('code that was seen at a block proves nothing for an earlier one', async () => {
  const deployedAt = 100;
  let asked = 0;
  const codeAt = ({ params }: RpcRequest) => {
    asked += 1;
    return Number(JSON.parse(params)[1]) >= deployedAt ? '0x60' : '0x';
  };
  const rpc = {
    call: async (request: RpcRequest) => codeAt(request),
    callMany: async (requests: readonly RpcRequest[]) =>
      requests.map((request) => ({ ok: true, result: codeAt(request) })),
  } as unknown as Rpc;
  const use = async (_: AbortSignal, send: (rpc: Rpc) => Promise<unknown>) => send(rpc);
  const callable = { use, limit: { current: 100 } } as unknown as Parameters<CodeProofs['findAbsent']>[1];
  const proofs = new CodeProofs();
  const isAbsentAt = async (number: number) => {
    const { signal } = new AbortController();
    return (await proofs.findAbsent('0', callable, blockOf(number), [READ], 'number', signal)).has(CONTRACT);
  };
  const absent: boolean[] = [];
  for (const number of [200, 250, 99, 150, 150, 200]) absent.push(await isAbsentAt(number));
  expect({ absent, asked }).toEqual({ absent: [false, false, true, false, false, false], asked: 3 });
});

const OWNER = { kind: 'owner', contract: '0xaa', key: '1' } as Read;
const CALL = { kind: 'call', contract: '0xaa', key: '2', call: { calldata: '12345678' } } as Read;
const FIVE: Reading = { ok: true, value: 5n };

function makeProofs() {
  const asked: string[] = [];
  const proofs = new CallerProofs();
  /** @param contractGets what the reader, which is a contract, got */
  const settle = async (
    read: Read,
    plain?: Reading | FailureKind,
    { endpoint = '0', contractGets = read.kind === 'owner' ? NOT_OWNED : DECIDING_REVERT } = {},
  ) => {
    const readPlainly = async (reads: readonly Read[]) => {
      asked.push(...reads.map(({ key }) => `${endpoint}/${key}`));
      if (typeof plain === 'string') throw new RpcFailure(plain);
      return reads.map(() => plain as Reading);
    };
    return (await proofs.settle(endpoint, [read], [contractGets], plain && readPlainly))[0];
  };
  return { asked, proofs, settle };
}

test('a revert decides only once a plain call with the same arguments has reverted too', async () => {
  const { settle, asked } = makeProofs();
  expect(await settle(OWNER)).toBe(PERHAPS_FOR_CONTRACTS);
  expect(await settle(OWNER, NOTHING)).toBe(NOTHING);
  // Of another id, and of the same one later: it may have been minted.
  expect(await settle({ ...OWNER, key: '9' })).toBe(PERHAPS_FOR_CONTRACTS);
  expect(await settle(OWNER)).toBe(PERHAPS_FOR_CONTRACTS);
  expect(await settle(CALL, failed('call-reverted'))).toBe(DECIDING_REVERT);
  expect(asked).toEqual(['0/1', '0/2']);
});

test('a function that has answered a contract refuses none, so its reverts need no plain call', async () => {
  const { settle, asked } = makeProofs();
  for (const read of [OWNER, CALL]) await settle({ ...read, key: '5' }, undefined, { contractGets: FIVE });
  expect(await settle(OWNER)).toBe(NOTHING);
  expect(await settle(CALL)).toBe(DECIDING_REVERT);
  expect(await settle({ ...CALL, call: { calldata: '99999999' } } as Read)).toBe(PERHAPS_FOR_CONTRACTS);
  expect(await settle(OWNER, undefined, { endpoint: '1' })).toBe(PERHAPS_FOR_CONTRACTS);
  expect(asked).toEqual([]);
});

test('an id that reverted with little gas needs its own plain call, whatever the function answered before', async () => {
  const { settle } = makeProofs();
  await settle({ ...OWNER, key: '5' }, undefined, { contractGets: FIVE });
  const contractGets = PERHAPS_NOT_OWNED as unknown as Reading;
  expect(await settle(OWNER, undefined, { contractGets })).toBe(PERHAPS_FOR_CONTRACTS);
  expect(await settle(OWNER, failed('gas-exhausted'), { contractGets })).toBe(failed('gas-exhausted'));
  expect(await settle(OWNER, NOTHING, { contractGets })).toBe(DECIDING_REVERT);
});

test.each([
  ['an owner', OWNER, FIVE],
  ['an answer', CALL, FIVE],
  ['an answer of 0 of a named function', CALL, NOTHING],
])('a revert is undetermined if a plain call gets %s', async (_, read, plain) => {
  const { settle } = makeProofs();
  expect(await settle(read, plain)).toBe(failed('call-reverted'));
  expect(await settle(read)).toBe(failed('call-reverted'));
});

test('a plain call that uses up its gas leaves the revert open, and a failing endpoint fails', async () => {
  const { settle } = makeProofs();
  expect(await settle(OWNER, failed('gas-exhausted'))).toBe(failed('gas-exhausted'));
  expect(await settle(OWNER, 'evm-timeout')).toBe(failed('rpc-timeout'));
  // An answer without an end does not show how its call ended.
  expect(await settle(OWNER, 'endless')).toEqual(failed('call-reverted'));
  await expect(settle(OWNER, 'unreachable')).rejects.toThrow('unreachable');
  expect(await settle(OWNER)).toBe(PERHAPS_FOR_CONTRACTS);
});

test('each read is asked once, eight at a time, and other readings never', async () => {
  const { proofs } = makeProofs();
  const asked: string[] = [];
  const ids = Array.from({ length: 10 }, (_, id) => ({ ...OWNER, key: String(id) }));
  const reads = [...ids, OWNER, { ...OWNER, contract: '0xbb', key: 'b' }];
  const readings = [...ids.map(() => NOT_OWNED), NOT_OWNED, failed('call-reverted')];
  const settled = await proofs.settle('0', reads, readings, async (some) => {
    asked.push(...some.map(({ key }) => key));
    return some.map(() => NOTHING);
  });
  expect(asked).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
  expect(settled).toEqual([
    ...Array(8).fill(NOTHING),
    ...[PERHAPS_FOR_CONTRACTS, PERHAPS_FOR_CONTRACTS, NOTHING, failed('call-reverted')],
  ]);
});

const NATIVE = { kind: 'native', account: '0x01' } as Read;
const BALANCE = { kind: 'balance', account: '0x01' } as Read;

function makeSource() {
  let plainCount = 0;
  const source = new NativeSource();
  const unitOf = (reads: Read[], readings: Reading[], plain: Reading | RpcFailure, endpoint = '0') =>
    source.unitOf(endpoint, reads, readings, async () => {
      plainCount += 1;
      if (plain instanceof RpcFailure) throw plain;
      return [plain];
    });
  return { unitOf, plainCount: () => plainCount };
}

test.each([
  [FIVE, 'evm'],
  [{ ok: true, value: 50_000_000_000n } as const, 'node'],
])(
  'the first native balance above 0 is compared with eth_getBalance, once per endpoint: %j',
  async (plain, expected) => {
    const { unitOf, plainCount } = makeSource();
    expect(await unitOf([BALANCE, NATIVE], [FIVE, FIVE], plain)).toBe(expected);
    expect(await unitOf([NATIVE], [FIVE], FIVE)).toBe(expected);
    expect(plainCount()).toBe(1);
  },
);

test.each([
  [NOTHING, 'rpc-disagreement'],
  [{ ok: true, value: 7n } as const, 'rpc-disagreement'],
  [{ ok: true, value: 51n } as const, 'rpc-disagreement'],
  [new RpcFailure('method-unsupported'), 'rpc-unavailable'],
])(
  'a balance that is not the other one in another unit decides nothing, and is compared again: %j',
  async (plain, code) => {
    const { unitOf, plainCount } = makeSource();
    for (const count of [1, 2]) {
      expect(await unitOf([NATIVE], [FIVE], plain)).toMatchObject({ ok: false, code });
      expect(plainCount()).toBe(count);
    }
  },
);

test('an endpoint that does not answer when balances are to be compared is left for another one', async () => {
  const away = new RpcFailure('timeout');
  await expect(makeSource().unitOf([NATIVE], [FIVE], away)).rejects.toBe(away);
});

test('a balance of 0, a token and a failed read show nothing', async () => {
  const { unitOf, plainCount } = makeSource();
  const readings = [NOTHING, FIVE, failed('rpc-timeout')];
  expect(await unitOf([NATIVE, BALANCE, NATIVE], readings, FIVE)).toBe('evm');
  expect(plainCount()).toBe(0);
});
