import type { BatchPartCompleted, BatchPartRequested } from '#shared/contracts/batches/batch.ts';
import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import type { CheckResult } from '#shared/contracts/checks/result.ts';
import { boundResults } from '#shared/stores/batches/cut-parts.ts';
import { anEvaluator, aRecord, linesOf } from '../../../test/support/an-evaluator.ts';
import { aBatchPart, OF_WATCH } from '../../../test/support/builders/a-batch.ts';
import { aCheckRequested } from '../../../test/support/builders/a-check-requested.ts';
import type { PerformReads } from '../chain/connect-chains.ts';
import { failed, type Read, type Reading } from '../domain/read.ts';
import { makeEvaluate } from './evaluate.ts';
import { makeGiveUp } from './give-up.ts';

const NOW = Date.parse('2026-11-22T10:00:00.000Z');
const BLOCK = { number: 7, hash: `0x${'cd'.repeat(32)}`, timestamp: 1_700_000_000, proved: true };
const RICH = `0x${'11'.repeat(20)}`;
const POOR = `0x${'22'.repeat(20)}`;
const UNREAD = `0x${'33'.repeat(20)}`;
const native = (roleId: string, minToken = '1') =>
  ({ type: 'NATIVE', chainId: 1, roleId, minToken }) as const;

const aPart = (over: Partial<BatchPartRequested> = {}) =>
  aBatchPart('app_1', {
    requestId: 'req_1',
    firstIndex: 500,
    entryCount: 503,
    part: 1,
    entries: [{ account: RICH, ref: 'member "1"' }, { account: POOR }, { account: UNREAD }],
    rules: [native('r')],
    ...over,
  });
const stopped = () => aRecord({ signal: AbortSignal.abort() });

const readingOf = ({ account }: Read): Reading => {
  if (account === UNREAD) return failed('rpc-timeout');
  return { ok: true, value: account === RICH ? 10n ** 18n : 0n };
};

function makeHandler(answer: (read: Read) => Reading = readingOf) {
  const asked: Read[][] = [];
  const proved: string[] = [];
  const avoided: unknown[] = [];
  const performReads: PerformReads = async (reads, { avoid }) => {
    avoided.push(avoid);
    const ofChain = reads.get(1) ?? [];
    asked.push([...ofChain]);
    const observations = ofChain.map((read) => [answer(read)]);
    const report = { block: BLOCK, headAskedAtMs: NOW - 300, answeredBy: ['0'] };
    return new Map([[1, { quorum: 1, observations, ...report }]]);
  };
  const { dependencies, parts, results } = anEvaluator({
    chains: {
      performReads,
      proveWallets: async () => ({ outcomes: [], blocks: {} }),
      isConfigured: (chainId) => chainId === 1,
      nativeDecimals: () => 18,
      delegateRegistry: () => `0x${'d'.repeat(40)}`,
    },
    prove: (_, __, jti) => {
      proved.push(jti);
      return `signed ${jti}`;
    },
    redisNowMs: () => NOW,
  });
  return {
    handle: makeEvaluate(dependencies, 'batch'),
    giveUp: makeGiveUp(dependencies),
    async evaluateCheck(check: CheckRequested) {
      await makeEvaluate(dependencies, 'bulk')(check, aRecord());
      return results[0] as CheckResult;
    },
    asked,
    avoided,
    proved,
    completed: () => parts[0] as BatchPartCompleted,
    lines: () => linesOf(parts[0]),
  };
}

test('a part of the watcher says who was asked, when, and of which blocks, and a part of a client does not', async () => {
  const { handle, completed, avoided } = makeHandler();
  await handle(aPart({ delivery: OF_WATCH, avoid: { '1': ['2'] } }), aRecord());
  expect(avoided).toEqual([{ '1': ['2'] }]);
  expect(completed()).toMatchObject({
    headTimes: { '1': NOW - 300 },
    blockTimes: { '1': BLOCK.timestamp * 1_000 },
    answeredBy: { '1': ['0'] },
  });
  const ofClient = makeHandler();
  await ofClient.handle(aPart(), aRecord());
  expect(ofClient.completed()).not.toHaveProperty('headTimes');
  expect(ofClient.completed()).not.toHaveProperty('blockTimes');
  expect(ofClient.completed()).not.toHaveProperty('answeredBy');
});

test('a member of a watch may need as many reads as a single check', async () => {
  const manyIds = {
    type: 'ERC1155',
    chainId: 1,
    contractAddress: RICH,
    tokenId: '0-255',
    roleId: 'r',
  } as const;
  const over = { entries: [{ account: RICH }], rules: [{ ...manyIds, minToken: '1' }] };
  const { handle, completed } = makeHandler();
  await handle(aPart({ ...over, delivery: OF_WATCH }), aRecord());
  expect(completed()).toMatchObject({ lineCount: 1, failedCount: 0 });
  await expect(makeHandler().handle(aPart(over), aRecord())).rejects.toMatchObject({
    code: 'message-unreadable',
  });
});

test('a member of a watch that needs too many reads is undetermined, and the others of its part are judged', async () => {
  const wallets = (from: number) =>
    Array.from({ length: 16 }, (_, index) => `0x${(from + index).toString(16).padStart(40, '0')}`);
  const [account = '', ...others] = wallets(256);
  const large = { account, accounts: [account, ...others], vaults: wallets(512), ref: 'large' };
  const manyIds = { type: 'ERC1155', chainId: 1, contractAddress: POOR, tokenId: '1-40' } as const;
  const { handle, asked, completed, lines } = makeHandler();
  const part = aPart({
    entries: [large, { account: RICH, ref: 'rich' }],
    rules: [
      { ...manyIds, roleId: 'r', minToken: '1' },
      { type: 'ANY', roleId: 's', rules: [native('', '1')] },
    ],
    delivery: OF_WATCH,
  });
  await handle(part, aRecord());
  const error = { code: 'internal', retryable: false, message: expect.stringContaining('10,000 reads') };
  expect(lines()).toMatchObject([
    {
      ref: 'large',
      status: 'failed',
      roles: [],
      errors: [
        { ...error, roleId: 'r' },
        { ...error, roleId: 's', path: '/rules/1/rules/0' },
      ],
    },
    { ref: 'rich', status: 'completed', roles: [{ granted: true }, { granted: true }], errors: [] },
  ]);
  expect(asked.flat().filter((read) => read.account !== RICH)).toEqual([]);
  expect(completed()).toMatchObject({ lineCount: 2, failedCount: 1, refundCount: 0 });
});

test('each entry of a part gets one line, in order, and the counts are those of the lines', async () => {
  const { handle, completed, lines } = makeHandler();
  await handle(aPart(), aRecord());
  const common = { errors: [], blockNumbers: { '1': 7 } };
  expect(lines()).toEqual([
    {
      index: 500,
      account: RICH,
      ref: 'member "1"',
      status: 'completed',
      roles: [{ id: 'r', granted: true }],
      ...common,
    },
    { index: 501, account: POOR, status: 'completed', roles: [{ id: 'r', granted: false }], ...common },
    expect.objectContaining({ index: 502, status: 'failed', roles: [], blockNumbers: { '1': 7 } }),
  ]);
  expect(completed()).toMatchObject({
    requestId: 'req_1',
    part: 1,
    firstIndex: 500,
    lineCount: 3,
    roles: [{ id: 'r', granted: 1, denied: 1, undetermined: 1 }],
    refundCount: 1,
    failedCount: 1,
  });
  expect(completed()).not.toHaveProperty('entries');
});

test('a check ends as a part with one entry does', async () => {
  for (const account of [RICH, POOR, UNREAD])
    for (const onUndetermined of ['omit', 'deny', 'fail'] as const) {
      const asked = { account, rules: [native('r'), native('s', '5')], onUndetermined, explain: true };
      const { handle, lines, evaluateCheck } = makeHandler();
      await handle(aPart({ ...asked, entries: [{ account }] }), aRecord());
      const { status, roles, errors, details } = await evaluateCheck(aCheckRequested('app_1', asked));
      expect(lines()[0]).toMatchObject({ status, roles, errors, details });
    }
});

test('a read that several entries and rules need is made once', async () => {
  const { handle, asked } = makeHandler();
  const entries = [{ account: RICH }, { account: RICH.toUpperCase().replace('0X', '0x') }, { account: POOR }];
  await handle(aPart({ entries, rules: [native('a'), native('b', '2')] }), aRecord());
  expect(asked.map((reads) => reads.map(({ account }) => account))).toEqual([[RICH, POOR]]);
});

test.each(['omit', 'deny', 'fail'] as const)(
  'a role that several rules name is counted once per entry; onUndetermined %s',
  async (onUndetermined) => {
    const { handle, completed } = makeHandler();
    await handle(aPart({ rules: [native('r', '5'), native('r')], onUndetermined }), aRecord());
    expect(completed().roles).toEqual([{ id: 'r', granted: 1, denied: 1, undetermined: 1 }]);
  },
);

test('each line of a batch with proofs has its own proof', async () => {
  const { handle, lines, proved } = makeHandler();
  await handle(aPart({ proof: { seconds: 300, alg: 'ES256', rulesDigest: 'd' } }), aRecord());
  expect(proved).toEqual(['req_1.500', 'req_1.501', 'req_1.502']);
  expect(lines()[0]).toHaveProperty('proof', 'signed req_1.500');
});

test('a preview repeats the verdicts before in its lines, and counts the members who would gain or lose a role', async () => {
  const entries = [
    { account: RICH, before: { r: false } },
    { account: RICH, before: { r: true } },
    { account: RICH },
    { account: POOR, before: { r: true, s: true } },
    { account: POOR, before: { r: false } },
    { account: UNREAD, before: { r: true } },
    { account: UNREAD, before: { r: false } },
  ];
  const rules = [native('r', '5'), native('r'), native('t', '0.5')];
  for (const onUndetermined of ['omit', 'deny', 'fail'] as const) {
    const { handle, completed, lines } = makeHandler();
    await handle(aPart({ entries, rules, onUndetermined, previewDigest: 'd' }), aRecord());
    expect(lines().map(({ before }) => before)).toEqual(entries.map(({ before }) => before));
    expect(completed()).toMatchObject({
      previewDigest: 'd',
      roles: [
        { id: 'r', granted: 3, denied: 2, undetermined: 2, gained: 1, lost: 1 },
        { id: 't', granted: 3, denied: 2, undetermined: 2, gained: 0, lost: 0 },
      ],
    });
  }
  const batch = makeHandler();
  await batch.handle(aPart(), aRecord());
  expect(batch.completed().roles).toEqual([{ id: 'r', granted: 1, denied: 1, undetermined: 1 }]);
});

test('each line of a batch that asks for it explains its verdicts, also where nothing could be read', async () => {
  const { handle, lines } = makeHandler();
  await handle(aPart({ explain: true }), aRecord());
  const required = { min: '1' };
  expect(lines().map(({ details }) => details)).toEqual([
    [{ ruleIndex: 0, outcome: 'granted', observed: '1', required }],
    [{ ruleIndex: 0, outcome: 'denied', observed: '0', required }],
    [{ ruleIndex: 0, outcome: 'undetermined', required }],
  ]);
  const gaveUp = makeHandler();
  const part = aPart({ explain: true, rules: [{ ...native('r'), chainId: 2 }] });
  await gaveUp.giveUp({ message: part, record: aRecord(), error: new Error('not configured') });
  for (const { details } of gaveUp.lines())
    expect(details).toEqual([{ ruleIndex: 0, outcome: 'undetermined', required }]);
});

test('the longest line of a batch with explanations is within the bound by which parts are cut', async () => {
  const MOST = 2n ** 256n - 1n;
  const amount = `${'9'.repeat(78)}.${'9'.repeat(36)}`;
  const token = { chainId: 1, contractAddress: RICH, minToken: amount, maxToken: amount } as const;
  const wallets = Array.from({ length: 16 }, (_, place) => `0x${place.toString(16).padStart(40, 'f')}`);
  const called = {
    ...({ type: 'CONTRACT', chainId: 1, contractAddress: RICH, operator: 'gte' } as const),
    function: 'function f(address) view returns (int256)',
    args: ['$account'],
  };
  const rules: BatchPartRequested['rules'] = [
    { type: 'ERC20', roleId: '"'.repeat(128), ...token },
    { type: 'ERC721', roleId: 'count', ...token },
    { ...called, roleId: 'called', value: String(-(2n ** 255n)) },
    { ...called, roleId: 'timed', value: '$timestamp-9999999999' },
    {
      type: 'SUM',
      roleId: 'added',
      minToken: amount,
      maxToken: amount,
      rules: Array.from({ length: 16 }, () => ({
        ...{ type: 'ERC20' as const, chainId: 1, contractAddress: RICH },
        times: amount,
        per: {
          contractAddress: POOR,
          function: 'function unit() view returns (uint256)',
          decimals: 77,
        },
      })),
    },
    {
      type: 'NONE',
      roleId: 'composed',
      rules: [
        {
          type: 'ALL',
          rules: [
            { type: 'ERC20', ...token },
            { ...called, value: '-1' },
          ],
        },
      ],
    },
  ];
  const answers: ((read: Read) => Reading)[] = [
    ({ kind, contract }) => {
      if (kind === 'decimals') return { ok: true, value: 255n };
      if (kind !== 'call') return { ok: true, value: MOST };
      return { ok: true, value: contract === POOR ? 1n : 2n ** 255n };
    },
    // The largest whole part of a sum.
    ({ kind }) => ({ ok: true, value: kind === 'decimals' ? 0n : kind === 'call' ? 1n : MOST }),
    ({ kind }) => (kind === 'decimals' ? { ok: true, value: 255n } : failed('not-read-alone')),
  ];
  for (const answer of answers) {
    const entry = { account: wallets[0] ?? '', accounts: wallets, ref: 'r'.repeat(128) };
    const { handle, lines } = makeHandler(answer);
    await handle(aPart({ explain: true, onUndetermined: 'deny', rules, entries: [entry] }), aRecord());
    const boundOf = boundResults({ rules, explain: true, hasProof: false });
    const lineBytes = Buffer.byteLength(JSON.stringify(lines()[0]));
    expect(lineBytes).toBeLessThanOrEqual(boundOf(Buffer.byteLength(JSON.stringify(entry))));
  }
});

test('a part that the process has no time to read is left to its next owner', async () => {
  const { handle } = makeHandler();
  await expect(handle(aPart(), stopped())).rejects.toMatchObject({
    code: 'overloaded',
  });
});

test.each([
  ['a chain that is not configured', aPart({ rules: [{ ...native('r'), chainId: 2 }] })],
  ['a malformed rule', aPart({ rules: [{ type: 'ERC20', chainId: 1, roleId: 'r', minToken: '1' }] })],
  ['a malformed wallet', aPart({ entries: [{ account: RICH }, { account: 'vitalik.eth' }] })],
])('a part with %s is unreadable, and each of its entries fails with internal', async (_, part) => {
  const { handle, giveUp, completed, lines } = makeHandler();
  const error = await handle(part, aRecord()).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'message-unreadable' });
  await giveUp({ message: part, record: aRecord(), error });
  expect(completed()).toMatchObject({ lineCount: part.entries.length, failedCount: part.entries.length });
  for (const line of lines())
    expect(line).toMatchObject({
      status: 'failed',
      errors: [{ code: 'internal', roleId: 'r', retryable: true }],
    });
});

test('a part that does not match its schema still ends each of its entries', async () => {
  const { giveUp, completed, lines } = makeHandler();
  const value = { ...aPart(), onUndetermined: 'perhaps', entries: [{ account: RICH }, 'poison'] };
  await giveUp({
    message: undefined,
    record: aRecord({ value: Buffer.from(JSON.stringify(value)) }),
    error: new Error('unreadable'),
  });
  expect(completed()).toMatchObject({ lineCount: 2, roles: [{ id: 'r', undetermined: 2 }], refundCount: 2 });
  expect(lines()[0]).toMatchObject({ index: 500, account: RICH, status: 'failed' });
});
