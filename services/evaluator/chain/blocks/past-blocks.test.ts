import { describeUndetermined } from '#shared/contracts/result.ts';
import { anEndpoint } from '../../../../test/support/an-endpoint.ts';
import { poolOf } from '../../../../test/support/pool-of.ts';
import type { Rpc } from '../rpc/connect-rpc.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';
import type { Block } from './block.ts';
import { PastBlocks } from './past-blocks.ts';

const HEAD = 1_000;
const aBlock = (number: number): Block => ({
  number,
  hash: `0x${number.toString(16).padStart(64, '0')}`,
  parentHash: `0x${'bb'.repeat(32)}`,
  timestamp: 1,
});

const RIGHT = 0;

/**
 * Past blocks of a chain whose nodes have the headers up to a number, and whose head is at 1 000.
 *
 * @param errors one per endpoint: how far the block that it answers is from the requested one
 */
function makePastBlocks({ headers = HEAD, head = HEAD as number | RpcFailure, errors = [RIGHT] } = {}) {
  const endpoints = errors.map((error, index) => {
    const call: Rpc['call'] = async ({ params }) => {
      const [asked] = JSON.parse(params) as [string];
      if (Number(asked) > headers) return null;
      const { number, hash, parentHash } = aBlock(Number(asked) + error);
      return { number: `0x${number.toString(16)}`, hash, parentHash, timestamp: '0x1' };
    };
    return anEndpoint({ call }, { name: String(index) });
  });
  return new PastBlocks({
    pool: poolOf(endpoints),
    quorum: 1,
    monotonicMs: () => 0,
    headNumber: async () => {
      if (head instanceof RpcFailure) throw head;
      return head;
    },
  });
}

const signal = new AbortController().signal;
const reasonOf = (failure: unknown) => {
  if (!(failure instanceof RpcFailure)) throw failure;
  const { code, cause } = failure.reading;
  return { code, retryable: describeUndetermined({ code, ...(cause ? { cause } : {}) }).retryable };
};

it('finds a block by its number', async () => {
  await expect(makePastBlocks().read({ number: 7, gone: [], signal })).resolves.toEqual(aBlock(7));
});

it('asks another endpoint if one answers another block than the requested one', async () => {
  const blocks = makePastBlocks({ errors: [65, RIGHT] });
  await expect(blocks.read({ number: 5, gone: [], signal })).resolves.toEqual(aBlock(5));
});

it('fails with block-mismatch if every endpoint answers another block than the requested one', async () => {
  const failure = makePastBlocks({ errors: [65] }).read({ number: 5, gone: [], signal });
  expect(reasonOf(await failure.catch((error: unknown) => error))).toEqual({
    code: 'block-mismatch',
    retryable: true,
  });
});

it.each([
  ['pruned long ago', HEAD - 128, {}],
  ['missing although it is among the newest', HEAD - 1, {}],
  ['missing while the head is unknown', 7, { head: new RpcFailure('timeout') }],
])('if the state of a block is %s, asking again does not help', async (_, number, chain) => {
  const gone = [{ ...aBlock(number), isMissing: true }];
  const failure = makePastBlocks(chain).read({ number, gone, signal });
  expect(reasonOf(await failure.catch((error: unknown) => error))).toEqual({
    code: 'block-unavailable',
    retryable: false,
  });
});

it('returns a block again if another block answered for it', async () => {
  const gone = [{ ...aBlock(7), isMissing: false }];
  await expect(makePastBlocks().read({ number: 7, gone, signal })).resolves.toEqual(aBlock(7));
});

it.each([
  ['is past the head, asking again may help', HEAD + 1, true],
  ['is among the newest, the node is behind and asking again may help', HEAD - 127, true],
  ['is older, it is unavailable for good', HEAD - 128, false],
])('if a block that no node has %s', async (_, number, retryable) => {
  const failure = makePastBlocks({ headers: 10 }).read({ number, gone: [], signal });
  expect(reasonOf(await failure.catch((error: unknown) => error))).toEqual({
    code: 'block-unavailable',
    retryable,
  });
});
