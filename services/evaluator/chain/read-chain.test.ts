import type { UndeterminedCode } from '#shared/contracts/checks/result.ts';
import { failed, type Observation, type Read } from '../domain/read.ts';
import { type Entry, IsolatedReadBudget } from './batching/entry.ts';
import { WaitingChecks } from './batching/waiting-checks.ts';
import type { Block } from './blocks/block.ts';
import type { BlockAtInstant } from './blocks/common-instant.ts';
import type { Head } from './blocks/heads.ts';
import type { GoneBlock } from './blocks/past-blocks.ts';
import { makeChainReader } from './read-chain.ts';

const READ = { key: 'decimals of a', kind: 'decimals' } as Read;
const blockOf = (number: number): Block => ({
  number,
  hash: `0x${number}`,
  parentHash: `0x${number - 1}`,
  timestamp: 0,
});

const CONTEXT = {
  ...({
    lane: 'bulk',
    traceparent: '',
    accountId: 'acc_1',
    clientId: 'app_1',
    blockTag: 'latest',
    minBlock: 0,
  } as const),
  onWait: () => undefined,
  isolatedReads: new IsolatedReadBudget('bulk'),
  signal: new AbortController().signal,
};

const OBSERVER = { onSaved: () => undefined, onRead: () => undefined };

/** A chain whose head is block 1, or block 2 for callers that found block 1 gone. Its reads return
 * `observed` in turn. */
function makeReader(observed: Observation[], quorum = 1, isSilent = false) {
  let hasState = true;
  let endpoints = ['0'];
  let nowMs = 0;
  const asked: { block: number; reads: number }[] = [];
  const gonePast: (readonly GoneBlock[])[] = [];
  const read = makeChainReader({
    heads: { read: async (_, gone = []) => ({ ...blockOf(1 + gone.length), askedAtMs: 0 }) as Head },
    pastBlocks: {
      read: async ({ number, gone }) => {
        gonePast.push([...gone]);
        return blockOf(number);
      },
    },
    nearBlocks: {
      findUntil: async (seconds, { head }) => blockOf(head.number - 1 - seconds),
      find: async (number) => blockOf(number),
    },
    queue: {
      read: async (block: Block, reads: readonly Read[]): Promise<Entry[]> => {
        asked.push({ block: block.number, reads: reads.length });
        return reads.map(
          (one) =>
            ({
              read: one,
              observation: observed.shift(),
              source: { isProved: true, hasState, endpoints },
            }) as unknown as Entry,
        );
      },
    } as never,
    quorum,
    waitingChecks: new WaitingChecks(1),
    pool: { isQuiet: isSilent, isSilent },
    observer: OBSERVER,
    monotonicMs: () => nowMs,
  });
  const readOnce = async (atBlock?: number) => {
    const { block, observations } = await read([READ], { ...CONTEXT, atBlock });
    return { block: block?.number, observation: observations[0], state: block?.state };
  };
  const wait = (ms: number) => {
    nowMs += ms;
  };
  const identifyState = (isIdentified: boolean) => {
    hasState = isIdentified;
  };
  const answerFrom = (...names: string[]) => {
    endpoints = names;
  };
  return { read, readOnce, asked, gonePast, wait, identifyState, answerFrom };
}

const SIX: Observation = [{ ok: true, value: 6n }];

test.each(['block-unavailable', 'block-mismatch'] as const)(
  'a check whose block was replaced (%s) begins once more at the block that is there now',
  async (code: UndeterminedCode) => {
    const { readOnce, asked } = makeReader([[failed(code)], SIX]);
    expect(await readOnce()).toMatchObject({ block: 2, observation: SIX });
    expect(asked.map(({ block }) => block)).toEqual([1, 2]);
    const never = makeReader([[failed(code)], [failed(code)], [failed(code)]]);
    expect(await never.readOnce()).toMatchObject({ block: undefined, observation: [failed(code)] });
  },
);

test.each([
  ['block-unavailable', true],
  ['block-mismatch', false],
] as const)(
  'a named block that failed with %s is requested again as missing: %s',
  async (code, isMissing) => {
    const { readOnce, gonePast } = makeReader([[failed(code)], SIX]);
    expect(await readOnce(7)).toMatchObject({ block: 7, observation: SIX });
    expect(gonePast).toEqual([[], [{ ...blockOf(7), isMissing }]]);
  },
);

test('answered reads prove a block, whatever happened to the others', async () => {
  const failing = { read: { key: 'b' }, observation: [failed('rpc-timeout')], source: { isProved: false } };
  expect(
    (await blockOfEntries({ read: { key: 'a' }, observation: SIX, source: { isProved: true } }, failing))
      ?.proved,
  ).toBe(true);
  expect(await blockOfEntries(failing)).toBeUndefined();
});

test('a read that a quorum answered has a block, proved by all who answered, also if one more failed it', async () => {
  const observation = [...SIX, failed('rpc-timeout'), ...SIX];
  const block = await blockOfEntries({ read: { key: 'a' }, observation, source: { isProved: false } });
  expect(block).toMatchObject({ number: 1, proved: false });
});

/** The block of a check whose reads were answered so. */
async function blockOfEntries(...entries: readonly object[]) {
  const read = makeChainReader({
    pastBlocks: { read: async () => blockOf(1) },
    nearBlocks: { find: async () => blockOf(1), findUntil: async () => blockOf(1) },
    ...{ heads: { read: async () => blockOf(1) } as never, queue: { read: async () => entries } as never },
    quorum: 1,
    waitingChecks: new WaitingChecks(1),
    ...{ pool: { isQuiet: false, isSilent: false }, observer: OBSERVER, monotonicMs: () => 0 },
  });
  return (await read([READ], CONTEXT)).block;
}

test.each([
  [false, SIX],
  [true, [failed('rpc-timeout')]],
])(
  'of a chain that does not answer, a check that is late (%s) waits or gets %j',
  async (isLate, observation) => {
    const { read } = makeReader([SIX], 1, true);
    const { observations } = await read([READ], { ...CONTEXT, isLate });
    expect(observations).toEqual([observation]);
  },
);

test('decimals are remembered once they are agreed on, and never before', async () => {
  const one = SIX[0] ?? failed('internal');
  const agreed: Observation = [one, one];
  const { readOnce, asked } = makeReader([SIX, [one, { ok: true, value: 18n }], agreed], 2);
  await readOnce();
  await readOnce();
  expect((await readOnce()).observation).toEqual(agreed);
  expect((await readOnce()).observation).toEqual(agreed);
  expect(asked.map(({ reads }) => reads)).toEqual([1, 1, 1, 0]);
});

test('decimals of one endpoint are believed for a minute, and those of two for a day', async () => {
  const wrong: Observation = [{ ok: true, value: 0n }];
  const { readOnce, asked, wait, answerFrom } = makeReader([wrong, [...wrong], SIX, [...SIX]]);
  const observations: (Observation | undefined)[] = [];
  for (const [waitMs, name] of [
    [0, '0'],
    [59_999, '0'],
    [1, '0'],
    [60_000, '1'],
    [60_000, '2'],
    [86_399_999, '2'],
  ] as const) {
    wait(waitMs);
    answerFrom(name);
    observations.push((await readOnce()).observation);
  }
  expect(observations).toEqual([wrong, wrong, wrong, SIX, SIX, SIX]);
  expect(asked.map(({ reads }) => reads)).toEqual([1, 0, 1, 1, 1, 0]);
});

test('decimals that a quorum gave are believed for a day', async () => {
  const both: Observation = [...SIX, ...SIX];
  const { readOnce, asked, wait, answerFrom } = makeReader([both], 2);
  answerFrom('0', '1');
  await readOnce();
  wait(86_399_999);
  expect((await readOnce()).observation).toEqual(both);
  expect(asked.map(({ reads }) => reads)).toEqual([1, 0]);
});

test.each([true, false])(
  'the state counts as identified only if remembered decimals came from identified state too: %s',
  async (isIdentified) => {
    const { read, readOnce, identifyState } = makeReader([SIX, SIX]);
    identifyState(isIdentified);
    expect((await readOnce()).state).toBe(isIdentified || undefined);
    identifyState(true);
    const { block } = await read([READ, { key: 'a balance', kind: 'balance' } as Read], CONTEXT);
    expect(block?.state).toBe(isIdentified || undefined);
  },
);

describe('a check that adds amounts of several chains', () => {
  async function readWith(blockAtInstant: BlockAtInstant, minBlock = 0) {
    const { read, asked } = makeReader([SIX]);
    const observed = await read([READ], { ...CONTEXT, minBlock, blockAtInstant });
    return { isBehind: observed.isBehind, number: observed.block?.number, asked };
  }

  it('reads the chain at the block that fits the others', async () => {
    expect(await readWith((_, find) => find(0))).toMatchObject({ number: 0, isBehind: false });
  });

  it('reads the minimum block if that is later', async () => {
    expect(await readWith((_, find) => find(0), 1)).toMatchObject({ number: 1, isBehind: false });
  });

  it('reads the head, and says so, of a chain that does not fit', async () => {
    expect(await readWith(async () => undefined)).toMatchObject({ number: 1, isBehind: true });
  });
});
