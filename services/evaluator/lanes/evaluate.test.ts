import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import type { ContractCondition } from '#shared/contracts/rules/rule.ts';
import { anEvaluator, aRecord } from '../../../test/support/an-evaluator.ts';
import { aCheckRequested } from '../../../test/support/builders/a-check-requested.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { PerformReads, ProveWallets } from '../chain/connect-chains.ts';
import { PROVED, REFUSED, UNREAD, type WalletOutcome } from '../chain/wallets/wallet-outcome.ts';
import type { Dependencies } from '../dependencies.ts';
import { failed, type Reading } from '../domain/read.ts';
import { makeEvaluate } from './evaluate.ts';
import { makeGiveUp } from './give-up.ts';
import { makeEventLoopShares } from './share-event-loop.ts';

const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const BLOCK = { number: 7, hash: `0x${'cd'.repeat(32)}`, timestamp: 1_700_000_000, proved: true };
const aCheck = (over: Partial<CheckRequested> = {}): CheckRequested =>
  aCheckRequested('app_1', {
    requestId: 'req_1',
    accountId: 'acc_1',
    account: `0x${'aa'.repeat(20)}`,
    rules: [{ type: 'NATIVE', chainId: 1, roleId: 'a', minToken: '1' }],
    acceptedAt: new Date(NOW - 2_000).toISOString(),
    retainUntil: new Date(NOW + 3_600_000).toISOString(),
    ...over,
  });
const aRecordOf = (value: unknown) =>
  aRecord({
    value: value === null ? null : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
  });

/** Every read of chain 1 gives `reading`, at one block; a check past its end reads nothing. */
const readsGiving =
  (reading: Reading): PerformReads =>
  async (reads, { signal }) =>
    new Map(
      [...reads].map(([chainId, ofChain]) => [
        chainId,
        {
          quorum: 1,
          observations: ofChain.map(() => [signal.aborted ? failed('deadline-exceeded') : reading]),
          ...(signal.aborted || !reading.ok ? {} : { block: BLOCK }),
        },
      ]),
    );

const nobodyProved: ProveWallets = async () => ({ outcomes: [], blocks: {} });

function makeHandler(
  performReads: PerformReads,
  { waitedMs = 0, proveWallets = nobodyProved }: { waitedMs?: number; proveWallets?: ProveWallets } = {},
) {
  let nowMs = NOW;
  const reserved: number[] = [];
  const readBudget: Dependencies['readBudgets']['bulk'] = {
    async run({ count }, work) {
      reserved.push(count);
      nowMs += waitedMs;
      return work().finally(() => void reserved.push(-count));
    },
  };
  const { dependencies, results } = anEvaluator({
    chains: { performReads, proveWallets, ...ONE_CHAIN },
    readBudgets: { interactive: readBudget, bulk: readBudget, batch: readBudget },
    redisNowMs: () => nowMs,
  });
  return { handle: makeEvaluate(dependencies, 'interactive'), reserved, results };
}

const ONE_CHAIN = {
  isConfigured: (chainId: number) => chainId === 1,
  nativeDecimals: () => 18,
  delegateRegistry: () => `0x${'d'.repeat(40)}`,
};

test.each([
  ['a check of many reads waits for its turn before it is planned', '1-200', ['turn', 'read', 'turn']],
  ['a small check is planned at once', '1', ['read', 'turn']],
])('%s', async (_, tokenId, expected) => {
  const order: string[] = [];
  const perform = readsGiving({ ok: true, value: 1n });
  const { dependencies } = anEvaluator({
    chains: {
      ...{ proveWallets: nobodyProved, ...ONE_CHAIN },
      async performReads(reads, options) {
        order.push('read');
        return perform(reads, options);
      },
    },
    eventLoop: { ...makeEventLoopShares(), waitForTick: async () => void order.push('turn') },
  });
  const contractAddress = `0x${'bb'.repeat(20)}`;
  const ofIds = { type: 'ERC1155', chainId: 1, contractAddress, tokenId, minToken: '1' } as const;
  await makeEvaluate(dependencies, 'bulk')(aCheck({ rules: [{ ...ofIds, roleId: 'a' }] }), aRecord());
  expect(order).toEqual(expected);
});

test('a check is read, judged and published once, with the block that was read', async () => {
  const { handle, results } = makeHandler(readsGiving({ ok: true, value: 10n ** 18n }));
  await handle(aCheck(), aRecord());
  expect(results).toEqual([
    {
      requestId: 'req_1',
      status: 'completed',
      roles: [{ id: 'a', granted: true }],
      errors: [],
      evaluatedAt: new Date(NOW).toISOString(),
      blocks: { '1': BLOCK },
    },
  ]);
});

test('an unreadable chain gives errors, no verdict and no block', async () => {
  const { handle, results } = makeHandler(readsGiving(failed('rpc-unavailable')));
  await handle(aCheck(), aRecord());
  expect(results).toMatchObject([
    { status: 'failed', roles: [], errors: [{ code: 'rpc-unavailable' }], blocks: {} },
  ]);
});

test.each([
  ['omit', { status: 'failed', roles: [], errors: [{ code: 'deadline-exceeded' }] }],
  [
    'deny',
    { status: 'completed', roles: [{ id: 'a', granted: false }], errors: [{ code: 'deadline-exceeded' }] },
  ],
] as const)('a sync check taken up past its deadline reads nothing; %s', async (onUndetermined, expected) => {
  const { handle, results } = makeHandler(readsGiving({ ok: true, value: 1n }));
  await handle(aCheck({ onUndetermined, deadlineAt: new Date(NOW - 1).toISOString() }), aRecord());
  expect(results).toMatchObject([expected]);
});

test.each([
  [
    'a chain that is not configured',
    aCheck({ rules: [{ type: 'NATIVE', chainId: 2, roleId: 'a', minToken: '1' }] }),
  ],
  ['a malformed rule', aCheck({ rules: [{ type: 'ERC20', chainId: 1, roleId: 'a', minToken: '1' }] })],
  [
    'a check with more reads than its lane allows',
    aCheck({
      rules: Array.from({ length: 8 }, (_, index) => ({
        type: 'ERC1155' as const,
        chainId: 1,
        roleId: 'a',
        minToken: '1',
        contractAddress: `0x${'ab'.repeat(20)}`,
        tokenId: `${index * 256}-${index * 256 + 255}`,
      })),
    }),
  ],
  ['a malformed amount', aCheck({ rules: [{ type: 'NATIVE', chainId: 1, roleId: 'a', minToken: 'many' }] })],
])('%s is rejected with its reason and never judged', async (_, check) => {
  const { handle, results } = makeHandler(readsGiving({ ok: true, value: 1n }));
  await expect(handle(check, aRecord())).rejects.toMatchObject({ code: 'message-unreadable' });
  expect(results).toEqual([]);
});

describe('while the process stops', () => {
  const stopped = AbortSignal.abort();

  test('a check that is cut short is left to the next owner and not published', async () => {
    const { handle, results } = makeHandler(readsGiving(failed('rpc-timeout')));
    await expect(handle(aCheck(), aRecord({ signal: stopped }))).rejects.toMatchObject({
      code: 'overloaded',
    });
    expect(results).toEqual([]);
  });

  test.each<[string, Reading]>([
    ['decided', { ok: true, value: 1n }],
    ['undetermined for good', failed('contract-not-found')],
  ])('a check that is %s is published', async (_, reading) => {
    const { handle, results } = makeHandler(readsGiving(reading));
    await handle(aCheck(), aRecord({ signal: stopped }));
    expect(results).toHaveLength(1);
  });

  test('a check that is past its own end is published', async () => {
    const { handle, results } = makeHandler(readsGiving(failed('rpc-timeout')));
    await handle(aCheck({ deadlineAt: new Date(NOW).toISOString() }), aRecord({ signal: stopped }));
    expect(results).toMatchObject([{ status: 'failed' }]);
  });
});

describe('a check that waits for a chain', () => {
  /** A chain that does not answer before the check's own end. */
  const readsWaiting: PerformReads = async (reads, context) => {
    context.onWait();
    await new Promise((resolve) => context.signal.addEventListener('abort', resolve, { once: true }));
    return readsGiving(failed('deadline-exceeded'))(reads, context);
  };

  test('is parked, and left to the next owner when the process stops', async () => {
    const { handle, results } = makeHandler(readsWaiting);
    const stop = new AbortController();
    const leaves: (() => void)[] = [];
    const record = aRecord({ signal: stop.signal, park: (leave) => void leaves.push(leave) });
    const handled = handle(aCheck(), record);
    await waitUntil('the check is parked', () => leaves.length > 0);
    expect(leaves).toHaveLength(1);
    stop.abort();
    for (const leave of leaves) leave();
    await expect(handled).rejects.toMatchObject({ code: 'overloaded' });
    expect(results).toEqual([]);
  });

  test('is not parked where the chain answers', async () => {
    const { handle } = makeHandler(readsGiving({ ok: true, value: 1n }));
    const park = () => {
      throw new Error('parked');
    };
    await handle(aCheck(), aRecord({ park }));
  });
});

describe('a check with sign-ins', () => {
  const account = `0x${'aa'.repeat(20)}`;
  const signIn = {
    domain: 'shop.example',
    nonce: '0'.repeat(58),
    wallets: [{ account, chainId: 1, hash: `0x${'0'.repeat(64)}`, signature: '0x' }],
  };
  const proving =
    (outcome: WalletOutcome): ProveWallets =>
    async () => ({ outcomes: [outcome], blocks: { '1': { ...BLOCK, number: 1 }, '5': BLOCK } });
  const judgeWith = async (
    outcome: WalletOutcome,
    reading: Reading = { ok: true, value: 10n ** 18n },
    over: Partial<CheckRequested> = {},
  ) => {
    const reads = readsGiving(reading);
    const { handle, results } = makeHandler(reads, { proveWallets: proving(outcome) });
    await handle(aCheck({ signIn, ...over }), aRecord());
    return results;
  };

  test('has roles if the wallet is proved, and the rules decide which block of a chain it names', async () => {
    expect(await judgeWith(PROVED)).toMatchObject([
      {
        status: 'completed',
        roles: [{ id: 'a', granted: true }],
        signIn: [{ account, outcome: 'proved' }],
        blocks: { '1': BLOCK, '5': BLOCK },
      },
    ]);
  });

  test('tells the block of the wallets only for a chain that no rule names', async () => {
    const [result] = await judgeWith(PROVED, failed('rpc-unavailable'));
    expect(result?.blocks).toEqual({ '5': BLOCK });
  });

  test.each([
    [REFUSED, { code: 'sign-in-refused', retryable: false }],
    [UNREAD, { code: 'sign-in-unread', retryable: true }],
  ] as const)('has no role although its rule was read: %j', async (outcome, error) => {
    expect(await judgeWith(outcome)).toMatchObject([
      { status: 'failed', roles: [], errors: [{ account, chainId: 1, ...error }] },
    ]);
  });

  test('names the proved wallets also if no rule was decided', async () => {
    const [result] = await judgeWith(PROVED, failed('rpc-timeout'));
    expect(result).toMatchObject({ status: 'failed', signIn: [{ account, outcome: 'proved' }] });
  });

  test.each(['omit', 'deny', 'fail'] as const)(
    'says nothing of the rules if a wallet is not proved, whatever onUndetermined says: %s',
    async (onUndetermined) => {
      const proof = { seconds: 300, alg: 'ES256', rulesDigest: 'd' } as const;
      const [result] = await judgeWith(REFUSED, undefined, { onUndetermined, explain: true, proof });
      expect(result).toEqual({
        requestId: 'req_1',
        status: 'failed',
        roles: [],
        errors: [expect.objectContaining({ account, code: 'sign-in-refused' })],
        evaluatedAt: new Date(NOW).toISOString(),
        blocks: { '1': BLOCK, '5': BLOCK },
      });
    },
  );

  test('is left to the next owner if the process stops before the wallet was asked', async () => {
    const stopped = AbortSignal.abort();
    const reads = readsGiving({ ok: true, value: 1n });
    for (const outcome of [UNREAD, REFUSED]) {
      const { handle, results } = makeHandler(reads, { proveWallets: proving(outcome) });
      const handled = handle(aCheck({ signIn }), aRecord({ signal: stopped }));
      if (outcome === UNREAD) await expect(handled).rejects.toMatchObject({ code: 'overloaded' });
      else await handled;
      expect(results).toHaveLength(outcome === UNREAD ? 0 : 1);
    }
  });

  test('is rejected if its wallet is on a chain that is not configured', async () => {
    const { handle } = makeHandler(readsGiving({ ok: true, value: 1n }));
    const wallets = [{ ...signIn.wallets[0], chainId: 2 }] as typeof signIn.wallets;
    const check = aCheck({ signIn: { ...signIn, wallets } });
    await expect(handle(check, aRecord())).rejects.toMatchObject({ code: 'message-unreadable' });
  });
});

describe('a check that could not be evaluated', () => {
  const giveUp = async (message: CheckRequested | undefined, value: unknown) => {
    const chains = {
      performReads: readsGiving(failed('internal')),
      proveWallets: nobodyProved,
      ...ONE_CHAIN,
    };
    const { dependencies, results } = anEvaluator({ chains, redisNowMs: () => NOW });
    await makeGiveUp(dependencies)({ message, record: aRecordOf(value), error: new Error('a bug') });
    return results;
  };

  test('ends as failed with internal for every rule', async () => {
    expect(await giveUp(aCheck(), aCheck())).toMatchObject([
      { status: 'failed', errors: [{ code: 'internal' }] },
    ]);
  });

  test('has details with what each rule requires, if the check asked for them', async () => {
    const native = { type: 'NATIVE', chainId: 1, minToken: '1', maxToken: '2' } as const;
    const contract: ContractCondition = {
      type: 'CONTRACT',
      chainId: 1,
      contractAddress: `0x${'bb'.repeat(20)}`,
      function: 'function isMember(address) view returns (bool)',
      args: ['$account'],
    };
    const rules: CheckRequested['rules'] = [
      { ...native, roleId: 'a' },
      { type: 'ANY', roleId: 'b', rules: [contract] },
    ];
    const [result] = await giveUp(aCheck({ rules, explain: true }), null);
    const outcome = 'undetermined';
    expect(result?.details).toEqual([
      { ruleIndex: 0, outcome, required: { min: '1', max: '2' } },
      {
        ruleIndex: 1,
        outcome,
        required: {},
        rules: [{ outcome, required: { operator: 'eq', value: 'true' } }],
      },
    ]);
    expect((await giveUp(aCheck(), null))[0]).not.toHaveProperty('details');
  });

  test('ends without details if its rules cannot be explained', async () => {
    const rule = {
      ...{ type: 'CONTRACT', roleId: 'a', chainId: 1, contractAddress: `0x${'bb'.repeat(20)}`, args: [] },
      get function(): string {
        throw new Error('a bug');
      },
    } as CheckRequested['rules'][number];
    const [result] = await giveUp(aCheck({ rules: [rule], explain: true }), null);
    expect(result).toMatchObject({ status: 'failed', errors: [{ code: 'internal' }] });
    expect(result).not.toHaveProperty('details');
  });

  test('ends also where its message does not match the schema but names it', async () => {
    const broken = { ...aCheck(), account: 'vitalik.eth' };
    expect(await giveUp(undefined, broken)).toMatchObject([
      { requestId: 'req_1', status: 'failed', errors: [{ ruleIndex: 0, roleId: 'a', code: 'internal' }] },
    ]);
  });

  test.each([
    ['not JSON', '{'],
    ['no check', { hello: 1 }],
    ['nothing', null],
  ])('publishes nothing of a record that is %s', async (_, value) => {
    expect(await giveUp(undefined, value)).toEqual([]);
  });
});

const ofIds = (tokenId: string) =>
  aCheck({
    rules: [
      {
        ...{ type: 'ERC1155', chainId: 1, contractAddress: `0x${'cc'.repeat(20)}`, tokenId },
        ...{ roleId: 'a', minToken: '1' },
      },
    ],
  });

const manyReads = aCheck({
  vaults: Array.from({ length: 16 }, (_, i) => `0x${String(i).padStart(40, 'e')}`),
  rules: [
    {
      ...{ type: 'ERC1155', chainId: 1, contractAddress: `0x${'cc'.repeat(20)}`, tokenId: '1-34' },
      ...{ roleId: 'a', minToken: '1' },
    },
  ],
});

test('a check that has waited for five minutes for its reads is read, but waits for no chain that does not answer', async () => {
  const late: (boolean | undefined)[] = [];
  for (const waitedMs of [299_999, 300_001]) {
    const read = readsGiving({ ok: true, value: 0n });
    const { handle, results } = makeHandler(
      (reads, context) => {
        late.push(context.isLate);
        return read(reads, context);
      },
      { waitedMs: waitedMs },
    );
    await handle(manyReads, aRecord());
    expect(results).toMatchObject([{ status: 'completed', roles: [{ id: 'a', granted: false }] }]);
  }
  expect(late).toEqual([false, true]);
});

test('a stop leaves a check to the next owner if a read of an open rule may succeed, whatever the rule reports', async () => {
  const stop = new AbortController();
  stop.abort();
  const mixed: PerformReads = async (reads) =>
    new Map(
      [...reads].map(([chainId, ofChain]) => [
        chainId,
        {
          quorum: 1,
          observations: ofChain.map((_, index) => [
            index === 0 ? failed('contract-not-found') : failed('deadline-exceeded'),
          ]),
        },
      ]),
    );
  const token = { type: 'ERC20', chainId: 1, minToken: '1' } as const;
  const rules: CheckRequested['rules'] = [
    {
      ...{ type: 'ANY', roleId: 'a' },
      rules: ['cc', 'dd'].map((byte) => ({ ...token, contractAddress: `0x${byte.repeat(20)}` })),
    } as CheckRequested['rules'][number],
  ];
  const { handle, results } = makeHandler(mixed);
  await expect(handle(aCheck({ rules }), aRecord({ signal: stop.signal }))).rejects.toMatchObject({
    code: 'overloaded',
  });
  expect(results).toEqual([]);
});

test('a check with many reads holds them while it is evaluated, also if that fails; an ordinary one holds none', async () => {
  const read = readsGiving({ ok: true, value: 10n ** 18n });
  const ordinary = makeHandler(read);
  await ordinary.handle(aCheck(), aRecord());
  await ordinary.handle(ofIds('7-8'), aRecord());
  expect(ordinary.reserved).toEqual([]);
  const large = makeHandler(read);
  await large.handle(manyReads, aRecord());
  expect(large.reserved).toEqual([34 * 17 + 34 * 16, -(34 * 17 + 34 * 16)]);
  const failing = makeHandler(read);
  const malformed = { ...manyReads, account: '0x1' };
  await expect(failing.handle(malformed, aRecord())).rejects.toMatchObject({ code: 'message-unreadable' });
  expect(failing.reserved).toHaveLength(2);
});

test('a check expands no list of ids before it holds its reads: repeated ids count', async () => {
  const { handle, reserved } = makeHandler(readsGiving({ ok: true, value: 1n }));
  await handle(ofIds('1-40,1-40'), aRecord());
  expect(reserved).toEqual([80, -80]);
});
