import { gzipSync } from 'node:zlib';
import type { RuleSet } from '#shared/contracts/rules/rule-set.ts';
import {
  type Checked,
  partitionOfMember,
  type Watch,
  type WatchCommand,
  type WatchEvaluated,
  type WatchMember,
  watchMember,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import type { WatchCheck } from '#shared/contracts/watches/watch-check.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import type { LogFork } from '#shared/stores/watches/log-positions.ts';
import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { aCheck, aMember, anAnswer, atSecond, aWatch } from '../../../test/support/builders/a-watch.ts';
import type { Dependencies } from '../dependencies.ts';
import { rulesStampOf } from '../domain/judge-answer.ts';
import { makeHandleEvaluated } from './handle-evaluated.ts';
import { makePublishChanges } from './publish-changes.ts';
import { makeUnreadChains } from './unread-chains.ts';

const SWEEP = 7;
const UID = watchUid(aWatch());
const PARTITION = partitionOfMember(UID, aMember().memberId);
const CONTEXT = { partition: PARTITION } as RecordContext;
const NOW = Date.parse(atSecond(100));

/** Redis and Kafka as far as a watcher uses them; each call is a step, at which the process may
 * crash. */
function makeWorld(
  over: {
    member?: Partial<WatchMember>;
    paused?: Watch['paused'];
    /** The running sweep. */
    sweep?: number;
    /** What was decided about it. */
    decision?: object;
    ruleSet?: RuleSet;
    forks?: readonly LogFork[];
    watch?: Partial<Watch>;
    isDue?: boolean;
  } = {},
) {
  const known: { member: WatchMember; due: number | undefined } = { member: aMember(over.member), due: NOW };
  const outbox = new Set<string>();
  const topic: WatchMember[] = [known.member];
  const events: { id: string; json: string }[] = [];
  const refunds: unknown[] = [];
  let stepsLeft = Infinity;
  /** A crash comes before the effect of a call, or between the effect and the answer. */
  const step = async <T>(effect: () => T): Promise<T> => {
    if (--stepsLeft === 0) throw new Error('crash');
    const result = effect();
    if (--stepsLeft === 0) throw new Error('crash');
    return result;
  };
  const [silent, notes]: [unknown[], unknown[]] = [[], []];
  const watchesDue: string[] = [];
  const members = {
    isDue: async () => over.isDue ?? false,
    readMany: () => step(() => [known.member]),
    async *readInPages(_: string, ids: readonly string[]) {
      if (ids.length > 0) yield await step(() => [known.member]);
    },
    write: (before: WatchMember, after: WatchMember, options: { dueAtMs?: number }) =>
      step(() => {
        if (before.version !== known.member.version) return false;
        known.member = after;
        known.due = options.dueAtMs;
        outbox.add(after.memberId);
        return true;
      }),
    refresh: (refreshed: readonly WatchMember[]) =>
      step(() => {
        for (const member of refreshed) {
          if (member.version === known.member.version) known.member = member;
          known.due = undefined;
        }
      }),
    setDue: (_: unknown, atMs: number) =>
      step(() => {
        known.due = Math.min(known.due ?? Infinity, atMs);
      }),
    async *heldBack() {
      yield await step(() => [known.member].filter(({ roles }) => roles.some(({ heldBack }) => heldBack)));
    },
    noteRevoked: () => step(() => undefined),
    figures: () =>
      step(() => ({ holders: new Map([['gold', 1]]), held: new Map(), sweeps: new Map([[SWEEP, {}]]) })),
    mayRevoke: (_: string, __: string, ids: readonly string[]) => step(() => new Set(ids)),
    outbox: () => step(() => [...outbox].map((memberId) => ({ watchUid: UID, memberId }))),
    markSent: (member: WatchMember) =>
      step(() => {
        if (member.version !== known.member.version) return false;
        const { event: _, ...sent } = known.member;
        known.member = sent;
        outbox.clear();
        return true;
      }),
  };
  const dependencies = {
    members,
    watches: {
      readByUid: () => step(() => aWatch({ ...over.watch, paused: over.paused })),
      setDue: async (uid: string) => void watchesDue.push(uid),
    },
    ruleSets: { read: () => step(() => over.ruleSet ?? aRuleSet('app_1', 'set')) },
    positions: {
      forks: () => step(() => over.forks ?? []),
      reach: () => step(() => ({ reached: undefined })),
    },
    chains: { note: async (_: unknown, note: unknown) => void notes.push(note) },
    unread: makeUnreadChains(() => NOW),
    sweeps: {
      finish: () => step(() => undefined),
      read: () => step(() => ({ sweep: over.sweep ?? SWEEP, decision: over.decision })),
    },
    openParts: { give: () => step(() => undefined) },
    followed: {
      noteSilent: async (...noted: unknown[]) => void silent.push(noted),
    },
    clientApps: { read: async () => undefined },
    quota: { refund: async (refund: unknown) => void refunds.push(refund) },
    metrics: { countChecks: () => undefined, countEvent: () => undefined },
    now: () => NOW,
    publish: (to: { name: string }, message: WatchMember & { requestId: string; resultJson: string }) =>
      step(() => {
        if (to.name === watchMember.name) topic.push(message);
        else events.push({ id: message.requestId, json: message.resultJson });
      }),
  };
  return {
    known,
    outbox,
    topic,
    events,
    refunds,
    silent,
    notes,
    watchesDue,
    async handle(record: WatchEvaluated, crashAt = Infinity): Promise<void> {
      stepsLeft = crashAt;
      const deps = dependencies as unknown as Dependencies;
      await makeHandleEvaluated({ ...deps, ...makePublishChanges(deps) })(record, CONTEXT);
      stepsLeft = Infinity;
    },
    /** Redis is emptied: the view is built again from the topic, as `project` does. */
    loseRedis() {
      known.member = topic.reduce((last, each) => (each.version > last.version ? each : last));
      outbox.clear();
      if (known.member.event) outbox.add(known.member.memberId);
    },
  };
}

const settle = (second: number): WatchCommand => ({
  ...{ command: 'settle', clientId: 'app_1', watchUid: UID, partition: PARTITION, at: atSecond(second) },
  ...{ sweep: SWEEP, sweeps: [SWEEP], holdRoles: [] },
});

/** Granted, revoked by a sweep that is settled, granted again by a transfer. */
const LOG: readonly WatchEvaluated[] = [
  anAnswer(aMember(), true, 1),
  anAnswer(aMember(), false, 2, { sweep: SWEEP }),
  settle(3),
  anAnswer(aMember(), true, 4, { why: { cause: 'transfer' } }),
];

/** Handles the log; at one record the process crashes, and the next one handles the record
 * again. */
async function handleLog(crash: { record: number; step: number; losesRedis: boolean }) {
  const world = makeWorld();
  let hasCrashed = false;
  for (const [index, record] of LOG.entries()) {
    if (index === crash.record) {
      await world.handle(record, crash.step).catch(() => {
        hasCrashed = true;
      });
      if (hasCrashed && crash.losesRedis) world.loseRedis();
    }
    if (index !== crash.record || hasCrashed) await world.handle(record);
  }
  return { ...world, hasCrashed };
}

describe.each([false, true])('with the loss of Redis: %s', (losesRedis) => {
  test.each(LOG.map((_, index) => index))(
    'a crash at any step of record %i leaves one body per sequence, no gap, and the last state in the topic',
    async (record) => {
      for (let step = 1; ; step++) {
        const { hasCrashed, events, topic, known, outbox } = await handleLog({ record, step, losesRedis });
        const bodies = new Map(events.map(({ id, json }) => [id, json]));
        for (const { id, json } of events) expect(bodies.get(id)).toBe(json);
        const sent = [...bodies.values()].map((json) => JSON.parse(json) as Record<string, unknown>);
        expect(sent).toMatchObject([
          { sequence: 1, cause: 'first', roles: [{ id: 'gold', granted: true, before: null }] },
          { sequence: 2, cause: 'schedule', roles: [{ id: 'gold', granted: false, before: true }] },
          { sequence: 3, cause: 'transfer', roles: [{ id: 'gold', granted: true, before: false }] },
        ]);
        expect(sent).toHaveLength(3);
        expect(topic.at(-1)).toMatchObject({ sequence: 3, version: known.member.version });
        expect(outbox.size).toBe(0);
        if (!hasCrashed) break;
        expect(step).toBeLessThan(100);
      }
    },
  );
});

const seen: Partial<WatchMember> = {
  ...{ sequence: 1, checked: aCheck(1) },
  roles: [{ id: 'gold', granted: true, since: atSecond(1) }],
};

test('a member whose transfer could not be read stays due, later each time, until it is read', async () => {
  const world = makeWorld({ member: seen });
  await world.handle(anAnswer(aMember(), undefined, 99, { why: { cause: 'transfer' }, owed: { '1': 2 } }));
  // It is the one that is asked for all that the chain owes.
  expect(world.known.due).toBe(NOW + 5_000);
  expect(world.notes).toMatchObject([{ read: new Map(), members: [{ unreadChains: ['1'] }] }]);
  await world.handle(anAnswer(aMember(), false, 100));
  expect(world.known.due).toBeUndefined();
  expect(world.known.member.owed).toBeUndefined();
  expect(world.events).toHaveLength(1);
  expect(world.notes.at(-1)).toMatchObject({
    read: new Map([['1', Date.parse(atSecond(100))]]),
    members: [{ unreadChains: [] }],
  });
});

test('an answer from a fork that is gone makes the member due once its head is too old to be used', async () => {
  const forks = [{ from: 4, knownAt: Date.parse(atSecond(20)) }];
  const world = makeWorld({ member: seen, forks });
  world.known.due = undefined;
  await world.handle(anAnswer(aMember(), false, 5, { why: { cause: 'transfer' }, owed: { '1': 5 } }));
  expect(world.events).toEqual([]);
  expect(world.known).toMatchObject({ due: NOW + 600, member: { owed: { blocks: { '1': 5 } } } });
});

test('a check of former wallets leaves a member due whose wallets were replaced', async () => {
  const world = makeWorld({ member: { ...seen, checked: undefined, walletsAt: atSecond(50) } });
  await world.handle(anAnswer(aMember(), false, 60));
  expect(world.known.due).toBe(NOW);
  expect(world.events).toEqual([]);
});

test('a check of other vaults is not applied, although it was requested after the vaults were replaced', async () => {
  const vaults = ['0x00000000000000000000000000000000000000bb'];
  const withVaults = { checked: undefined, wallets: { ...aMember().wallets, vaults } };
  const world = makeWorld({ member: { ...seen, ...withVaults, walletsAt: atSecond(50) } });
  const answerOf = (walletsAt: string, second: number) =>
    anAnswer(aMember(), false, second, { walletTimes: [Date.parse(walletsAt)] });
  await world.handle(answerOf(aMember().walletsAt, 60));
  expect(world.known.due).toBe(NOW);
  expect(world.events).toEqual([]);
  await world.handle(answerOf(atSecond(50), 60));
  expect(world.events).toHaveLength(1);
});

test('a check that was evaluated after its rules were replaced revokes nothing, and is made again by the present rules', async () => {
  const digest = 'sha-256=:b3RoZXJSdWxlcw==:';
  const ruleSet = aRuleSet('app_1', 'set', { digest });
  const world = makeWorld({ member: seen, ruleSet });
  await world.handle(anAnswer(aMember(), false, 2, { why: { cause: 'transfer' } }));
  expect(world.events).toEqual([]);
  expect(world.known.due).toBe(NOW + 600);
  await world.handle(anAnswer(aMember(), false, 3, { rules: rulesStampOf(ruleSet, aWatch()) }));
  expect(world.events).toHaveLength(1);
});

test('a part that the evaluator could not parse changes no role', async () => {
  const world = makeWorld({ member: seen });
  await world.handle({ ...anAnswer(aMember(), undefined, 2), roles: [] });
  const withoutRef = '{"index":0,"account":"0x0","roles":[],"errors":[],"blockNumbers":{}}\n';
  const linesGzip = gzipSync(withoutRef).toString('base64');
  await world.handle({ ...anAnswer(aMember(), undefined, 3), linesGzip });
  expect(world.known.member).toEqual({ ...aMember(), ...seen });
});

test('a settlement changes nothing of a member whose new wallets were not checked, and leaves it due', async () => {
  const roles = [
    {
      id: 'gold',
      granted: true,
      since: atSecond(1),
      heldBack: { since: atSecond(1), why: { cause: 'schedule' as const }, sweep: SWEEP },
    },
  ];
  const world = makeWorld({ member: { ...seen, roles, checked: undefined, walletsAt: atSecond(50) } });
  await world.handle(settle(60));
  expect(world.events).toEqual([]);
  expect(world.known.due).toBe(NOW);
});

test.each([
  ['while the watch is paused', { paused: { reason: 'requested', at: atSecond(2) } }],
  ['in the sweep after the pause', { sweep: SWEEP + 1 }],
] as const)(
  'a settlement that a pause has overtaken changes nothing %s, which decides anew',
  async (_, over) => {
    const roles = [
      {
        id: 'gold',
        granted: true,
        since: atSecond(1),
        heldBack: { since: atSecond(1), why: { cause: 'schedule' as const }, sweep: SWEEP },
      },
    ];
    const world = makeWorld({ member: { ...seen, roles }, ...over });
    await world.handle(settle(3));
    await world.handle({ ...settle(4), holdRoles: ['gold'] } as WatchCommand);
    expect(world.events).toEqual([]);
    expect(world.known.member.roles).toEqual(roles);
  },
);

test('a revocation that a sweep finds after it was decided is sent once the next sweep finds it too', async () => {
  const world = makeWorld({ member: seen, sweep: SWEEP + 1 });
  const settleNext: WatchCommand = { ...settle(3), sweep: SWEEP + 1, sweeps: [SWEEP + 1] } as WatchCommand;
  await world.handle(anAnswer(aMember(), false, 2, { sweep: SWEEP }));
  await world.handle(settleNext);
  expect(world.events).toEqual([]);
  await world.handle(anAnswer(aMember(), false, 3, { sweep: SWEEP + 1 }));
  await world.handle(settleNext);
  expect(world.events).toHaveLength(1);
});

test('a settlement sends no revocation that came after its decision, which has not counted it', async () => {
  const world = makeWorld({ member: seen, decision: { sweeps: [SWEEP], hold: [] } });
  await world.handle(anAnswer(aMember(), false, 2, { sweep: SWEEP }));
  await world.handle(settle(3));
  expect(world.events).toEqual([]);
  expect(world.known.member.roles).toMatchObject([{ id: 'gold', granted: true, heldBack: { sweep: NOW } }]);
});

test('a settlement sends nothing that former rules denied', async () => {
  const rules = rulesStampOf(aRuleSet('app_1', 'set'), { blockTag: 'safe' });
  const world = makeWorld({ member: { ...seen, checked: aCheck(1, { rules }) } });
  world.known.member.roles = [
    {
      ...{ id: 'gold', granted: true, since: atSecond(1) },
      heldBack: { since: atSecond(1), why: { cause: 'schedule' }, sweep: SWEEP },
    },
  ];
  await world.handle(settle(3));
  expect(world.events).toEqual([]);
});

test('a watch is processed when a revocation is held back, and not for another change', async () => {
  const world = makeWorld({ member: seen });
  await world.handle(anAnswer(aMember(), true, 2));
  expect(world.watchesDue).toEqual([]);
  await world.handle(anAnswer(aMember(), false, 3, { sweep: SWEEP }));
  expect(world.watchesDue).toEqual([UID]);
});

test('a member that was removed in mid-sweep is not touched by the answer', async () => {
  const world = makeWorld({ member: { ...seen, roles: [], removedAt: atSecond(2) } });
  await world.handle(anAnswer(aMember(), true, 1, { sweep: SWEEP }));
  expect(world.events).toEqual([]);
  expect(world.known.member.roles).toEqual([]);
});

test('checks that decided nothing are refunded to the month that they were charged to', async () => {
  const world = makeWorld({ member: seen });
  const answer = anAnswer(aMember(), undefined, 2);
  await world.handle({ ...answer, chargedMonth: '2026-11', refundCount: 1 });
  await world.handle({ ...answer, refundCount: 1 });
  const { clientId, requestId } = answer;
  expect(world.refunds).toEqual([{ clientId, month: '2026-11', count: 1, requestId }]);
});

test('a repeated check of a new member is refunded once the member has an answer', async () => {
  const world = makeWorld();
  const charged = { chargedMonth: '2026-11', refundCount: 0 };
  const first = { ...anAnswer(aMember(), true, 1), ...charged };
  await world.handle(first);
  await world.handle(first);
  expect(world.refunds).toEqual([]);
  const again = { ...anAnswer(aMember(), true, 2), ...charged };
  await world.handle(again);
  const { clientId, requestId } = again;
  expect(world.refunds).toEqual([{ clientId, month: '2026-11', count: 1, requestId }]);
});

test.each<[string, Parameters<typeof makeWorld>[0], Partial<WatchCheck>]>([
  ['is of a dropped fork', { forks: [{ from: 1, knownAt: Date.parse(atSecond(20)) }] }, {}],
  ['is by former rules', {}, { rules: 'set#0 latest' }],
])(
  'the first check of a new member is refunded if its answer %s: another one is charged',
  async (_, over, check) => {
    const world = makeWorld(over);
    const answerOf = (second: number, of: Partial<WatchCheck>) => ({
      ...anAnswer(aMember(), true, second, of),
      ...{ chargedMonth: '2026-11', refundCount: 0 },
    });
    await world.handle(answerOf(10, check));
    await world.handle(answerOf(30, {}));
    expect(world.events).toHaveLength(1);
    expect(world.refunds).toMatchObject([{ count: 1, requestId: 'watch_10' }]);
  },
);

test('a check that an interrupted sweep requests twice is refunded once, and the check of a later sweep is not', async () => {
  const world = makeWorld({ member: seen });
  const sweep = Date.parse(atSecond(10));
  const ofSweep = (second: number, of: number) => ({
    ...anAnswer(aMember(), true, second, { sweep: of }),
    ...{ chargedMonth: '2026-11', refundCount: 0 },
  });
  const again = ofSweep(12, sweep);
  for (const answer of [ofSweep(11, sweep), again, ofSweep(14, Date.parse(atSecond(13)))])
    await world.handle(answer);
  const { clientId, requestId } = again;
  expect(world.refunds).toEqual([{ clientId, month: '2026-11', count: 1, requestId }]);
});

test('a transfer whose check was answered by an endpoint that lags behind is checked again soon, and then at doubling intervals', async () => {
  const seenBlock: Checked['seen'] = { '1': { block: 60, askedAt: Date.parse(atSecond(60)) } };
  const world = makeWorld({ member: { ...seen, checked: aCheck(1, { seen: seenBlock }) } });
  const behind = (second: number) =>
    anAnswer(aMember(), true, second, { why: { cause: 'transfer' }, owed: { '1': 61 } });
  await world.handle(behind(50));
  expect(world.known).toMatchObject({
    due: NOW + 600,
    member: { owed: { blocks: { '1': 61 }, since: atSecond(50) }, roles: seen.roles },
  });
  world.known.due = undefined;
  await world.handle(behind(55));
  expect(world.known.due).toBe(NOW + (NOW - Date.parse(atSecond(50))));
});

test.each<[string, boolean | undefined, Parameters<typeof makeWorld>[0]]>([
  ['was dropped', true, { forks: [{ from: 4, knownAt: Date.parse(atSecond(20)) }] }],
  ['could not be read', undefined, {}],
])('what is owed because an answer %s is owed still after Redis has lost it', async (_, granted, over) => {
  const world = makeWorld({ ...over, member: seen });
  await world.handle(anAnswer(aMember(), granted, 5, { why: { cause: 'transfer' }, owed: { '1': 5 } }));
  world.loseRedis();
  expect(world.known.member.owed?.blocks).toEqual({ '1': 5 });
  expect(world.events).toEqual([]);
});

test('an owed block without its check is owed by the member that has not seen it', async () => {
  const world = makeWorld({ member: seen });
  const owe: WatchCommand = {
    ...{ command: 'owe', clientId: 'app_1', watchUid: UID, partition: PARTITION, at: atSecond(9) },
    memberIds: [aMember().memberId],
    owed: { since: atSecond(9), blocks: { '1': 7 }, why: { cause: 'transfer' } },
  };
  await world.handle(owe);
  expect(world.known).toMatchObject({
    due: NOW + 600,
    member: { owed: { blocks: { '1': 7 }, why: { cause: 'transfer' } } },
  });
});

test('with a grace, a revocation makes no event, and its member is due when the grace ends', async () => {
  const world = makeWorld({ member: seen, watch: { graceSeconds: 30 } });
  await world.handle(anAnswer(aMember(), false, 90, { why: { cause: 'transfer' } }));
  expect([world.events, world.known.due]).toEqual([[], Date.parse(atSecond(120))]);
  expect(world.topic.at(-1)?.roles[0]?.heldBack).toMatchObject({ graceUntil: atSecond(120) });
});

describe('a role that a sweep finds changed', () => {
  const contractAddress = `0x${'CC'.repeat(20)}`;
  const rule = { type: 'ERC20', chainId: 1, contractAddress, roleId: 'gold', minToken: '1' };
  const rulesOf = (...rules: Record<string, unknown>[]) => ({ ruleSet: aRuleSet('app_1', 'set', { rules }) });
  const native = { type: 'NATIVE', chainId: 1, roleId: 'gold', minToken: '1' };
  type Over = Parameters<typeof makeWorld>[0];
  /** What is noted when a member who was granted the role is denied it. */
  async function silentOf(over: Over, context: Parameters<typeof anAnswer>[3] = { sweep: SWEEP }) {
    const world = makeWorld(over);
    await world.handle(anAnswer(aMember(), true, 10));
    expect(world.silent).toEqual([]);
    await world.handle(anAnswer(aMember(), false, 20, context));
    return world.silent;
  }

  test('is noted for the contract that alone decides on it, with the block and the time of its last check', async () => {
    expect(await silentOf(rulesOf(rule))).toEqual([
      [
        UID,
        { chainId: 1, contractAddress: contractAddress.toLowerCase(), blockTag: 'latest' },
        { accounts: [aMember().wallets.account], blockNumber: 20, foundAt: atSecond(20) },
        Date.parse(atSecond(10)),
      ],
    ]);
  });

  test.each<[string, Over, Parameters<typeof anAnswer>[3]]>([
    [
      'the member waits for another check, perhaps of a transfer',
      { ...rulesOf(rule), isDue: true },
      { sweep: SWEEP },
    ],
    ['another rule decides on the role too', rulesOf(rule, native), { sweep: SWEEP }],
    [
      'the rule is composed',
      rulesOf({ type: 'ALL', roleId: 'gold', rules: [rule, native] }),
      { sweep: SWEEP },
    ],
    ['the rule is on the native coin', rulesOf(native), { sweep: SWEEP }],
    [
      'the member has vaults',
      {
        ...rulesOf(rule),
        member: { wallets: { ...aMember().wallets, vaults: [`0x${'dd'.repeat(20)}`] } },
      },
      { sweep: SWEEP },
    ],
    ['a transfer caused the check', rulesOf(rule), { why: { cause: 'transfer' } }],
    ['the sweep was for new rules', rulesOf(rule), { why: { cause: 'rule-set' }, sweep: SWEEP }],
  ])('is not noted where %s', async (_, over, context) => {
    expect(await silentOf(over, context)).toEqual([]);
  });
});
