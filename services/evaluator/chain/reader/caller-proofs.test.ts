import { failed, REVERTED_WITH_DATA, type Read, type Reading } from '../../domain/read.ts';
import { type FailureKind, RpcFailure } from '../rpc/rpc-failure.ts';
import { CallerProofs } from './caller-proofs.ts';
import { NOT_OWNED, NOTHING, PERHAPS_FOR_CONTRACTS } from './readings.ts';

const OWNER = { kind: 'owner', contract: '0xaa', key: '1' } as Read;
const CALL = { kind: 'call', contract: '0xaa', key: '2', call: { calldata: '12345678' } } as Read;
const FIVE: Reading = { ok: true, value: 5n };

function makeProofs() {
  const asked: string[] = [];
  const proofs = new CallerProofs(() => 0);
  const settle = async (read: Read, plain?: Reading | FailureKind, endpoint = '0') => {
    const readPlainly = async ({ key }: Read) => {
      asked.push(`${endpoint}/${key}`);
      if (typeof plain === 'string') throw new RpcFailure(plain);
      return plain;
    };
    const reading = read.kind === 'owner' ? NOT_OWNED : REVERTED_WITH_DATA;
    return (await proofs.settle(endpoint, [read], [reading], plain && readPlainly))[0];
  };
  return { asked, proofs, settle };
}

test('a revert decides only once a plain call has reverted too, which is asked once per endpoint and contract', async () => {
  const { settle, asked } = makeProofs();
  expect(await settle(OWNER)).toBe(PERHAPS_FOR_CONTRACTS);
  expect(await settle(OWNER, NOTHING)).toBe(NOTHING);
  expect(await settle({ ...OWNER, key: '9' })).toBe(NOTHING);
  expect(await settle(OWNER, undefined, '1')).toBe(PERHAPS_FOR_CONTRACTS);
  expect(await settle(CALL)).toBe(PERHAPS_FOR_CONTRACTS);
  expect(await settle(CALL, failed('call-reverted'))).toBe(REVERTED_WITH_DATA);
  expect(await settle(CALL, FIVE)).toBe(REVERTED_WITH_DATA);
  expect(asked).toEqual(['0/1', '0/2']);
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
  await expect(settle(OWNER, 'unreachable')).rejects.toThrow('unreachable');
  expect(await settle(OWNER)).toBe(PERHAPS_FOR_CONTRACTS);
});

test('many reverts of one contract need one plain call, and other readings none', async () => {
  const { proofs, asked } = makeProofs();
  const reads = [OWNER, OWNER, { ...OWNER, contract: '0xbb', key: 'b' }, OWNER];
  const readings = [NOT_OWNED, NOT_OWNED, NOT_OWNED, FIVE];
  const settled = await proofs.settle('0', reads, readings, async ({ key }) => {
    asked.push(key);
    return NOTHING;
  });
  expect({ settled, asked }).toEqual({ settled: [NOTHING, NOTHING, NOTHING, FIVE], asked: ['1', 'b'] });
});
