import { describeUndetermined } from '#shared/contracts/result.ts';
import { poolOf } from '../../../../test/support/pool-of.ts';
import { Endpoint } from '../endpoints/endpoint.ts';
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

/** Past blocks of a chain whose node has the headers up to a number, and whose head is at 1 000. */
function makePastBlocks({ headers = HEAD, head = HEAD as number | RpcFailure } = {}) {
  const call: Rpc['call'] = async ({ params }) => {
    const [number] = JSON.parse(params) as [string];
    if (Number(number) > headers) return null;
    const { hash, parentHash } = aBlock(Number(number));
    return { number, hash, parentHash, timestamp: '0x1' };
  };
  const endpoint = new Endpoint({
    name: '0',
    rpc: { call } as Rpc,
    maxCallsPerBatch: undefined,
    rateShare: undefined,
    observer: { onCall: () => undefined },
    monotonicMs: () => 0,
  });
  return new PastBlocks({
    pool: poolOf([endpoint]),
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

it.each([
  ['pruned long ago, it is unavailable for good', HEAD - 128, {}, false],
  ['among the newest, the node is behind and asking again may help', HEAD - 127, {}, true],
  [
    'unavailable while the head is unknown, asking again may help',
    7,
    { head: new RpcFailure('timeout') },
    true,
  ],
])('if the state of a block is %s', async (_, number, chain, retryable) => {
  const failure = makePastBlocks(chain).read({ number, gone: [aBlock(number)], signal });
  expect(reasonOf(await failure.catch((error: unknown) => error))).toEqual({
    code: 'block-unavailable',
    retryable,
  });
});

it.each([
  ['is past the head, asking again may help', HEAD + 1, true],
  ['should be there, the node is behind and asking again may help', HEAD, true],
  ['was never kept, it is unavailable for good', 500, false],
])('if a block %s', async (_, number, retryable) => {
  const failure = makePastBlocks({ headers: 10 }).read({ number, gone: [], signal });
  expect(reasonOf(await failure.catch((error: unknown) => error))).toEqual({
    code: 'block-unavailable',
    retryable,
  });
});
