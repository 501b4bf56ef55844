import type { BlockTag } from '#shared/contracts/rules/rule.ts';
import { FairShares } from '#shared/fairness/fair-shares.ts';
import { anEndpoint } from '../../../../test/support/builders/an-endpoint.ts';
import { poolOf } from '../../../../test/support/builders/pool-of.ts';
import { waitUntil } from '../../../../test/support/wait-until.ts';
import { BlockTime } from '../endpoints/block-time.ts';
import type { EndpointOptions } from '../endpoints/endpoint.ts';
import type { Rpc } from '../rpc/connect-rpc.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';
import type { Block } from './block.ts';
import { type HeadRequest, Heads, type HeadsOptions } from './heads.ts';

const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const hex = (number: number) => `0x${number.toString(16)}`;
const headerOf = (number: number, timestampMs: number) => ({
  number: hex(number),
  hash: `0x${number.toString(16).padStart(64, 'a')}`,
  parentHash: `0x${'bb'.repeat(32)}`,
  timestamp: hex(Math.floor(timestampMs / 1_000)),
});

/** The behaviour of an endpoint: the number of its head, a failure, or no answer ever. */
type Shown = number | RpcFailure | 'hang';

function makeHeads(
  shown: Shown[],
  over: Partial<HeadsOptions> & Pick<EndpointOptions, 'blockTimestampMsMax'> = {},
) {
  const { blockTimestampMsMax } = over;
  const clock = { ms: 10_000 };
  const state = {
    ...{ shown, tags: [] as string[], onWait: jest.fn(), heads: [] as number[], headAtMs: NOW },
    finalAtMs: NOW,
    /** By the endpoint: the time that it gives its head in place of the true one. */
    inventedAtMs: [] as number[],
    /** The time of the blocks below the heads. */
    olderAtMs: NOW,
    distrusted: [] as string[],
    doubted: [] as string[],
    /** Looks for endpoints that count as demand. */
    demandCount: 0,
  };
  const monotonicMs = () => clock.ms;
  const answer = async (index: number, tag: string): Promise<unknown> => {
    state.tags.push(tag);
    const now = state.shown[index];
    if (now === 'hang') return new Promise(() => undefined);
    if (now instanceof RpcFailure) throw now;
    const asked = Number(tag);
    if (asked > (now ?? 0)) return null;
    if (asked >= 0) return headerOf(asked, asked === now ? state.headAtMs : state.olderAtMs);
    const inventedAtMs = state.inventedAtMs[index];
    if (inventedAtMs !== undefined) return headerOf(now ?? 0, inventedAtMs);
    return headerOf(now ?? 0, tag === 'latest' ? state.headAtMs : state.finalAtMs);
  };
  const endpoints = shown.map((_, index) => {
    const call: Rpc['call'] = ({ params }) => answer(index, (JSON.parse(params) as [string])[0]);
    return anEndpoint({ call }, { name: String(index), monotonicMs, blockTimestampMsMax });
  });
  const rank = ({ name }: { name: string }) => Number([...state.distrusted, ...state.doubted].includes(name));
  const waiting = new FairShares(8);
  const closing = new AbortController();
  const heads = new Heads({
    pool: {
      ...poolOf(endpoints),
      candidates: (_, { isAside = false } = {}) => {
        if (!isAside) state.demandCount += 1;
        return endpoints.toSorted((a, b) => rank(a) - rank(b));
      },
      distrustHeads: ({ name }) => void state.distrusted.push(name),
      doubtHead: ({ name }, _, { isAside = false } = {}) =>
        void state.doubted.push(isAside ? `${name} aside` : name),
    },
    quorum: 1,
    blockTime: new BlockTime(1_000),
    maxHeadAgeMs: undefined,
    redisNowMs: () => NOW,
    monotonicMs,
    closed: closing.signal,
    onHead: ({ number }) => void state.heads.push(number),
    waiting,
    ...over,
  });
  const read = (request: Partial<HeadRequest> = {}, gone: readonly Block[] = []): Promise<Block> =>
    heads.read(
      {
        blockTag: 'latest',
        minBlock: 0,
        accountId: 'acc_1',
        clientId: 'app_1',
        onWait: state.onWait,
        signal: new AbortController().signal,
        ...request,
      },
      gone,
    );
  /** Lets the clock run until there is something to see. */
  const until = (condition: string, look: () => boolean) =>
    waitUntil(condition, () => {
      clock.ms += 100;
      return look();
    });
  return { closing, endpoints, read, state, clock, waiting, until };
}

const codeOf = (read: Promise<unknown>) =>
  read.then(
    () => 'read',
    (error: RpcFailure) => error.reading.code,
  );

describe('a head', () => {
  test('is fetched once for all checks that begin around it', async () => {
    const { read, state, clock } = makeHeads([7]);
    await Promise.all([read(), read(), read({ clientId: 'app_2' })]);
    clock.ms += 500;
    expect((await read()).number).toBe(7);
    expect(state.tags).toEqual(['latest']);
  });

  test('is fetched again for a check that began more than 500 ms later', async () => {
    const { read, state, clock } = makeHeads([7]);
    await read();
    clock.ms += 501;
    state.shown = [8];
    expect((await read()).number).toBe(8);
    expect(state.heads).toEqual([7, 8]);
  });

  test('is fetched again, once for all checks that have found it replaced', async () => {
    const { read, state } = makeHeads([7]);
    const gone = [await read()];
    state.shown = [8];
    expect((await read()).number).toBe(7);
    const anew = await Promise.all([read({}, gone), read({ clientId: 'app_2' }, gone)]);
    expect(anew.map(({ number }) => number)).toEqual([8, 8]);
    expect(state.tags).toEqual(['latest', 'latest']);
  });

  test('that was found replaced is doubted, and asked of another endpoint', async () => {
    const { read, state, clock } = makeHeads([999_999, 8]);
    const gone = [await read()];
    clock.ms += 4_000;
    expect((await read({}, gone)).number).toBe(8);
    expect(state.doubted).toEqual(['0']);
    await read({ isAside: true }, gone);
    expect(state.doubted).toEqual(['0', '0 aside']);
  });

  test('is fetched separately for each block tag', async () => {
    const { read, state } = makeHeads([7]);
    const tags: BlockTag[] = ['latest', 'safe', 'finalized'];
    await Promise.all(tags.map((blockTag) => read({ blockTag })));
    expect(state.tags.toSorted()).toEqual(tags.toSorted());
  });

  test('fails for the waiting checks if it cannot be fetched, and the failure is not cached', async () => {
    const { read, state } = makeHeads([new RpcFailure('malformed')]);
    expect(await Promise.all([codeOf(read()), codeOf(read())])).toEqual([
      'rpc-unavailable',
      'rpc-unavailable',
    ]);
    state.shown = [7];
    expect((await read()).number).toBe(7);
  });

  test('is still fetched for others when one check ends', async () => {
    const { read, state } = makeHeads([7]);
    const controller = new AbortController();
    const [ended, other] = [codeOf(read({ signal: controller.signal })), read()];
    controller.abort();
    expect([await ended, (await other).number, state.tags.length]).toEqual(['deadline-exceeded', 7, 1]);
  });

  test('gives a check that ends before the fetch the reason of the last failed attempt', async () => {
    const { read, state, until } = makeHeads([new RpcFailure('malformed')]);
    const controller = new AbortController();
    const reading = codeOf(read({ signal: controller.signal }));
    await until('a failed attempt', () => state.tags.length === 2);
    controller.abort();
    expect(await reading).toBe('rpc-unavailable');
  });

  test('is not given to a check that has ended', async () => {
    const { read } = makeHeads([7]);
    await read();
    expect(await codeOf(read({ signal: AbortSignal.abort() }))).toBe('deadline-exceeded');
  });

  test('is no longer fetched when the chain is closed', async () => {
    const { closing, read } = makeHeads([7]);
    closing.abort();
    expect(await codeOf(read())).toBe('deadline-exceeded');
  });
});

describe('a head with a bound on its age', () => {
  test('may be as old as the operator allows and not a second more', async () => {
    const { read, state, clock } = makeHeads([7], { maxHeadAgeMs: 60_000 });
    state.headAtMs = NOW - 60_000;
    expect((await read()).number).toBe(7);
    clock.ms += 1_000;
    state.headAtMs = NOW - 61_000;
    expect(await codeOf(read())).toBe('chain-stale');
  });

  test('is refused if it is in the future, and does not make the other endpoints count as behind', async () => {
    const { read, state, endpoints } = makeHeads([999_999_999], {
      blockTimestampMsMax: () => NOW + 60_000,
    });
    state.headAtMs = NOW + 61_000;
    expect(await codeOf(read())).toBe('rpc-unavailable');
    expect(endpoints[0]?.headNumber).toBe(-1);
    state.headAtMs = NOW + 60_000;
    state.shown = [7];
    expect((await read()).number).toBe(7);
    expect(endpoints[0]?.headNumber).toBe(7);
  });

  test('may be in the future if the chain has no bound, such as a test chain whose time was moved', async () => {
    const { read, state } = makeHeads([7]);
    state.headAtMs = NOW + 86_400_000;
    expect((await read()).number).toBe(7);
  });

  test('does not apply to a safe or finalized block, which is always old', async () => {
    const { read, state } = makeHeads([7], { maxHeadAgeMs: 60_000 });
    state.finalAtMs = NOW - 900_000;
    expect((await read({ blockTag: 'finalized' })).number).toBe(7);
  });

  test('is checked on the node that reports the finalized block: a stalled node reports an old one', async () => {
    const { read, state } = makeHeads([7], { maxHeadAgeMs: 60_000 });
    state.headAtMs = NOW - 61_000;
    expect(await codeOf(read({ blockTag: 'finalized' }))).toBe('chain-stale');
    expect(await codeOf(read({ blockTag: 'safe' }))).toBe('chain-stale');
  });

  test('does not stop another endpoint if it is too old', async () => {
    const { read } = makeHeads([new RpcFailure('chain-stale'), 7]);
    expect((await read()).number).toBe(7);
  });
});

describe('a minimum block', () => {
  test('causes no wait if the head has reached it', async () => {
    const { read, state } = makeHeads([7]);
    expect((await read({ minBlock: 7 })).number).toBe(7);
    expect(state.onWait).not.toHaveBeenCalled();
  });

  test('is read at another endpoint that has it, also while one endpoint hangs', async () => {
    const { read, state } = makeHeads([7, 'hang', 9]);
    expect((await read({ minBlock: 9 })).number).toBe(9);
    expect(state.onWait).toHaveBeenCalled();
  });

  test('makes no endpoint distrusted where two name different blocks, and no quorum tells which is right', async () => {
    const { read, state } = makeHeads([7, 7]);
    state.onWait.mockImplementation(() => {
      state.shown = [8, 8];
      state.inventedAtMs = [NOW - 1_000];
    });
    expect((await read({ minBlock: 8 })).number).toBe(8);
    expect([state.distrusted, state.tags.length]).toEqual([[], 3]);
  });

  test('is waited for until it comes', async () => {
    const { read, state, waiting, clock } = makeHeads([7]);
    const reading = read({ minBlock: 8 });
    state.onWait.mockImplementation(() => {
      clock.ms += 1_000;
      state.shown = [8];
    });
    expect((await reading).number).toBe(8);
    expect(waiting.count).toBe(0);
  });

  test.each([
    [1_000, 17, true],
    [1_000, 18, false],
    [12_000, 8, true],
    [12_000, 9, false],
    [3_000, 11, true],
    [3_000, 12, false],
  ])(
    'with blocks of %i ms: %i, seven being the head, is worth waiting for: %p',
    async (blockTimeMs, minBlock, isWorthIt) => {
      const { read, waiting, state, until } = makeHeads([7], { blockTime: new BlockTime(blockTimeMs) });
      const controller = new AbortController();
      const reading = codeOf(read({ minBlock, signal: controller.signal }));
      // One poll as for any check, which asked all endpoints, and another one only if it may help.
      if (isWorthIt) await until('another look', () => state.tags.length === 2);
      else expect([await reading, state.tags.length]).toEqual(['min-block-not-reached', 1]);
      controller.abort();
      expect([await reading, waiting.count]).toEqual(['min-block-not-reached', 0]);
    },
  );

  test('is reported as not reached even if the check ends during a poll', async () => {
    const { read, state } = makeHeads([7]);
    const controller = new AbortController();
    state.onWait.mockImplementation(() => {
      state.shown = ['hang'];
      setImmediate(() => controller.abort());
    });
    expect(await codeOf(read({ minBlock: 8, signal: controller.signal }))).toBe('min-block-not-reached');
  });

  test('is waited for by a bounded number of checks of one client', async () => {
    const { read, waiting } = makeHeads([7]);
    const controller = new AbortController();
    const reads = [1, 2, 3].map(() => codeOf(read({ minBlock: 8, signal: controller.signal })));
    expect(await Promise.race(reads)).toBe('min-block-not-reached');
    expect(waiting.count).toBe(2);
    controller.abort();
    await Promise.all(reads);
  });
});

describe('with a quorum', () => {
  test('the newest block that a quorum of endpoints has counts', async () => {
    const { read } = makeHeads([9, 8], { quorum: 2 });
    expect((await read()).number).toBe(8);
  });

  test.each([
    ['the same', [90, 90]],
    ['4 s apart', [90, 86]],
  ])('no header is asked for where the heads are %s', async (_, shown) => {
    const { read, state } = makeHeads(shown, { quorum: 2 });
    await read();
    expect(state.tags).toEqual(['latest', 'latest']);
  });

  test('the header of a head that is further behind is asked for once more', async () => {
    const { read, state } = makeHeads([90, 85], { quorum: 2 });
    await read();
    expect(state.tags).toEqual(['latest', 'latest', '0x55']);
  });

  test('a header is asked for wherever the heads differ and an endpoint proves no block', async () => {
    const { read, state, endpoints } = makeHeads([90, 86], { quorum: 2 });
    endpoints[1]?.learn({ method: 'plain', pin: 'hash', source: 'evm', fromBlock: 0 });
    await read();
    expect(state.tags).toEqual(['latest', 'latest', '0x56']);
  });

  test('a header that is asked for causes no background calls where the head does not', async () => {
    const { read, state } = makeHeads([90, 85], { quorum: 2 });
    await read({ isAside: true });
    expect([state.tags.length, state.demandCount]).toEqual([3, 0]);
  });

  test.each([
    ['above', NOW + 60_000],
    ['far below', NOW - 60_000],
  ])('a time %s that of the newest head is not believed', async (_, inventedAtMs) => {
    const { read, state } = makeHeads([90, 89, 90], { quorum: 2 });
    state.inventedAtMs = [NOW, inventedAtMs];
    expect(await read()).toMatchObject({ number: 90, timestamp: NOW / 1_000 });
    expect(state.distrusted).toEqual(['1']);
  });

  test('an old block with an invented time counts for nobody, and the heads of the others do', async () => {
    const { read, state } = makeHeads([5, 90, 90], { quorum: 2, maxHeadAgeMs: 60_000 });
    state.inventedAtMs = [NOW];
    state.olderAtMs = NOW - 600_000;
    expect(await read()).toMatchObject({ number: 90, timestamp: NOW / 1_000 });
    expect(state.distrusted).toEqual(['0']);
  });

  test('a time that one of two endpoints invents for the head is a disagreement', async () => {
    const { read, state } = makeHeads([90, 90], { quorum: 2, blockTime: new BlockTime(50) });
    state.inventedAtMs = [NOW - 3_000];
    expect(await codeOf(read())).toBe('rpc-disagreement');
    expect(state.tags.length).toBe(6);
  });

  test('endpoints that are on different forks for a moment are asked again a little later', async () => {
    const { read, state } = makeHeads([90, 90], { quorum: 2, blockTime: new BlockTime(50) });
    state.inventedAtMs = [NOW - 3_000];
    const reading = read();
    await waitUntil('both heads', () => state.tags.length === 2);
    state.inventedAtMs = [];
    expect((await reading).number).toBe(90);
  });

  test('all endpoints are asked once, although one of them contradicts the others', async () => {
    const { read, state } = makeHeads([89, 89, 89], { quorum: 2 });
    state.onWait.mockImplementation(() => {
      state.shown = [90, 90, 90];
      state.inventedAtMs = [NOW, NOW, NOW - 1_000];
    });
    expect((await read({ minBlock: 90 })).number).toBe(90);
    expect([state.distrusted, state.tags.length]).toEqual([['2'], 5]);
  });

  test('a head that fewer endpoints name than the quorum is none', async () => {
    const { read } = makeHeads([90, new RpcFailure('malformed')], { quorum: 2 });
    expect(await codeOf(read())).toBe('rpc-disagreement');
  });

  test('a head that is too high is confirmed by the endpoints that have the block below it', async () => {
    const { read, state } = makeHeads([7, 90, 90], { quorum: 2 });
    state.shown = [999_999, 90, 90];
    expect((await read()).number).toBe(90);
  });

  test('a minimum block that only one endpoint has is not reached', async () => {
    const { read, state, until } = makeHeads([9, 8, 7], { quorum: 2 });
    expect((await read({ minBlock: 8 })).number).toBe(8);
    const controller = new AbortController();
    const lookCount = state.tags.length;
    const reading = codeOf(read({ minBlock: 9, signal: controller.signal }));
    await until('two looks at all', () => state.tags.length >= lookCount + 6);
    controller.abort();
    expect(await reading).toBe('min-block-not-reached');
  });
});
