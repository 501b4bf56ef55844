import { describeUndetermined } from '#shared/contracts/checks/result.ts';
import { FairShares } from '#shared/fairness/fair-shares.ts';
import { anEndpoint } from '../../../../test/support/builders/an-endpoint.ts';
import { poolOf } from '../../../../test/support/builders/pool-of.ts';
import { BlockTime } from '../endpoints/block-time.ts';
import type { Rpc } from '../rpc/connect-rpc.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';
import type { Block } from './block.ts';
import { type GoneBlock, PastBlocks } from './past-blocks.ts';

const HEAD = 1_000;
const aBlock = (number: number): Block => ({
  number,
  hash: `0x${number.toString(16).padStart(64, '0')}`,
  parentHash: `0x${'bb'.repeat(32)}`,
  timestamp: 1,
});

const RIGHT = 0;

/**
 * Past blocks of a chain with blocks of a second, whose nodes have the headers up to a number, and
 * whose head is at 1 000.
 *
 * @param errors one per endpoint: how far the block that it answers is from the requested one
 * @param times one per endpoint that gives another time than 1 s
 */
function makePastBlocks({
  headers = HEAD,
  head = HEAD as number | RpcFailure,
  errors = [RIGHT],
  quorum = 1,
  refusal = undefined as RpcFailure | undefined,
  times = [] as string[],
} = {}) {
  const state = { headers: errors.map(() => headers) };
  const lookedUp: number[] = [];
  const endpoints = errors.map((error, index) => {
    const call: Rpc['call'] = async ({ params }) => {
      const [asked] = JSON.parse(params) as [string];
      lookedUp.push(Number(asked));
      if (Number(asked) > (state.headers[index] ?? 0)) {
        if (refusal !== undefined) throw refusal;
        return null;
      }
      const { number, hash, parentHash } = aBlock(Number(asked) + error);
      return { number: `0x${number.toString(16)}`, hash, parentHash, timestamp: times[index] ?? '0x1' };
    };
    return anEndpoint({ call }, { name: String(index) });
  });
  const waiting = new FairShares(1);
  const blocks = new PastBlocks({
    pool: poolOf(endpoints),
    quorum,
    blockTime: new BlockTime(1_000),
    waiting,
    closed: new AbortController().signal,
    headNumber: async () => {
      if (head instanceof RpcFailure) throw head;
      return head;
    },
  });
  const onWait = jest.fn();
  const read = (
    number: number,
    gone: GoneBlock[] = [],
    signal = new AbortController().signal,
    accountId = 'acc_1',
  ) => blocks.read({ number, gone, accountId, clientId: 'app_1', onWait, signal });
  return { lookedUp, state, endpoints, read, onWait, waiting };
}

const reasonOf = async (reading: Promise<Block>) => {
  const failure = await reading.catch((error: unknown) => error);
  if (!(failure instanceof RpcFailure)) throw failure;
  const { code, cause } = failure.reading;
  return { code, retryable: describeUndetermined({ code, ...(cause ? { cause } : {}) }).retryable };
};

it('finds a block by its number', async () => {
  await expect(makePastBlocks().read(7)).resolves.toEqual(aBlock(7));
});

it('asks another endpoint if one answers another block than the requested one', async () => {
  await expect(makePastBlocks({ errors: [65, RIGHT] }).read(5)).resolves.toEqual(aBlock(5));
});

it('fails with block-mismatch if every endpoint answers another block than the requested old one', async () => {
  expect(await reasonOf(makePastBlocks({ errors: [65] }).read(5))).toEqual({
    code: 'block-mismatch',
    retryable: true,
  });
});

it('with a quorum believes no time of a block that one endpoint alone gives', async () => {
  const two = { errors: [RIGHT, RIGHT], quorum: 2, times: ['0x9'] };
  expect(await reasonOf(makePastBlocks(two).read(5))).toMatchObject({ code: 'block-mismatch' });
  const three = { ...two, errors: [RIGHT, RIGHT, RIGHT] };
  await expect(makePastBlocks(three).read(5)).resolves.toEqual(aBlock(5));
});

it('reports a state that is missing 128 blocks below the head as missing for good', async () => {
  const gone = [{ ...aBlock(HEAD - 128), isMissing: true }];
  expect(await reasonOf(makePastBlocks().read(HEAD - 128, gone))).toEqual({
    code: 'block-unavailable',
    retryable: false,
  });
});

it.each([
  ['its state was missing', true],
  ['another block answered for it', false],
])('returns a block near the head again if %s, and its check waits meanwhile', async (_, isMissing) => {
  const { read, onWait, waiting } = makePastBlocks();
  await expect(read(HEAD - 127, [{ ...aBlock(HEAD - 127), isMissing }])).resolves.toEqual(aBlock(HEAD - 127));
  expect([onWait.mock.calls.length, waiting.count]).toEqual([1, 0]);
});

const WORDS = new RpcFailure('rpc-error', { words: 'cannot query unfinalized data', isErrorAnswer: true });

it.each([
  ['null', undefined],
  ['an error in words that nobody knows', WORDS],
])('waits for a block near the head that the nodes answer by %s', async (_, refusal) => {
  const { read, state, endpoints } = makePastBlocks({ headers: HEAD - 1, refusal });
  const reading = read(HEAD);
  state.headers = [HEAD];
  await expect(reading).resolves.toEqual(aBlock(HEAD));
  expect(endpoints[0]?.strikes).toBe(0);
});

it('waits for the endpoint of a quorum that is behind', async () => {
  const { read, state } = makePastBlocks({ errors: [RIGHT, RIGHT], quorum: 2 });
  state.headers = [HEAD, HEAD - 1];
  const reading = read(HEAD);
  state.headers = [HEAD, HEAD];
  await expect(reading).resolves.toEqual(aBlock(HEAD));
});

it('reports a block that did not come before the deadline as retryable', async () => {
  const { read } = makePastBlocks({ headers: HEAD - 1 });
  expect(await reasonOf(read(HEAD, [], AbortSignal.timeout(1)))).toEqual({
    code: 'block-unavailable',
    retryable: true,
  });
});

it('lets a bounded number of checks of a client wait', async () => {
  const { read, waiting } = makePastBlocks({ headers: HEAD - 1 });
  const controller = new AbortController();
  const [first, second] = [read(HEAD, [], controller.signal), read(HEAD, [], controller.signal)].map(
    reasonOf,
  );
  expect(await Promise.race([first, second])).toMatchObject({ code: 'block-unavailable', retryable: true });
  expect(waiting.count).toBe(1);
  controller.abort();
  await Promise.all([first, second]);
});

it.each([
  ['ten seconds of blocks past the head is waited for', HEAD + 10, true],
  ['further past the head is refused at once', HEAD + 11, false],
  ['128 blocks below the head is missing for good', HEAD - 128, false],
])('a block that no node has and that is %s', async (_, number, isWaitedFor) => {
  const { read, onWait } = makePastBlocks({ headers: 10 });
  expect(await reasonOf(read(number, [], isWaitedFor ? AbortSignal.timeout(1) : undefined))).toEqual({
    code: 'block-unavailable',
    retryable: isWaitedFor,
  });
  expect(onWait).toHaveBeenCalledTimes(isWaitedFor ? 1 : 0);
});

it('reports a failure of the head in place of a block that no node has', async () => {
  const { read } = makePastBlocks({ headers: 10, head: new RpcFailure('timeout') });
  expect(await reasonOf(read(20))).toMatchObject({ code: 'block-unavailable', retryable: true });
});

it('looks blocks up in turns of the accounts that name them', async () => {
  const { read, lookedUp } = makePastBlocks();
  const many = Array.from({ length: 30 }, (_, index) => read(100 + index));
  const other = read(7, [], undefined, 'acc_2');
  await Promise.all([...many, other]);
  expect(lookedUp.indexOf(7)).toBeLessThan(8);
  expect(lookedUp).toHaveLength(31);
});
