import type { BatchPartRequested } from '#shared/contracts/batches/batch.ts';
import { PART_ENTRIES_MAX, PART_RESULT_BYTES_MAX } from '#shared/contracts/batches/batch.ts';
import { ServiceError } from '#shared/errors.ts';
import { boundResults } from '#shared/stores/batches/cut-parts.ts';
import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { aMember, aWatch } from '../../../test/support/builders/a-watch.ts';
import { partially } from '../../../test/support/builders/partially.ts';
import type { Dependencies } from '../dependencies.ts';
import { chargeChecks, makeRequestChecks } from './request-checks.ts';

const NOW = Date.parse('2026-11-22T10:00:00.000Z');
const LIMITS = { requestsPerMonth: 1_000, requestsPerSecond: 10 };

function makeWorld(over: { outcomes?: string[]; isAppGone?: boolean; failure?: ServiceError } = {}) {
  const world = {
    published: [] as BatchPartRequested[],
    charged: [] as number[],
    refunded: [] as { requestId: string; count: number; month: string }[],
    paused: [] as string[],
    given: [] as string[],
  };
  const outcomes = over.outcomes ?? [];
  const requestChecks = makeRequestChecks({
    async publish(_: unknown, part: BatchPartRequested) {
      if (over.failure) throw over.failure;
      world.published.push(part);
    },
    openParts: { give: async (requestId: string) => void world.given.push(requestId) },
    quota: {
      async charge({ count }: { count: number }) {
        world.charged.push(count);
        return outcomes.shift() ?? 'charged';
      },
      refund: async (refund: (typeof world.refunded)[number]) => void world.refunded.push(refund),
    },
    clientApps: { read: async () => (over.isAppGone ? undefined : { limits: LIMITS }) },
    accounts: { read: async () => undefined },
    pause: async (_: unknown, reason: string) => void world.paused.push(reason),
    now: () => NOW,
  } as unknown as Parameters<typeof makeRequestChecks>[0]);
  return Object.assign(world, { requestChecks });
}

const members = (count: number) => Array.from({ length: count }, (_, i) => aMember({ memberId: `m${i}` }));
const asked = (count: number) => ({
  ...{
    watch: aWatch(),
    ruleSet: aRuleSet('app_1', 'set'),
    members: members(count),
    why: { cause: 'schedule' as const },
    owed: {},
  },
  isCharged: true,
  beforePart: async () => true,
});

test('a watch without quota is paused with the reason, and no more checks are requested', async () => {
  const world = makeWorld({ outcomes: ['charged', 'quota-share-exceeded'] });
  expect(await world.requestChecks(asked(3 * PART_ENTRIES_MAX))).toHaveLength(2 * PART_ENTRIES_MAX);
  expect(world.paused).toEqual(['quota-share-exceeded']);
  expect(world.published.map(({ entries }) => entries.length)).toEqual([PART_ENTRIES_MAX]);
  // Nothing waits for the part that was not published.
  expect(world.given).toHaveLength(1);
  // With quota again it continues.
  expect(await world.requestChecks(asked(1))).toEqual([]);
  expect(world.published).toHaveLength(2);
});

const checkOf = ({ delivery }: BatchPartRequested) =>
  delivery.mode === 'watch' ? delivery.check : undefined;

test('a check is stamped with the digest of its rules and its block tag, so that its answer is not taken for another', async () => {
  const world = makeWorld();
  const stampWith = async (over: Partial<ReturnType<typeof asked>>) => {
    await world.requestChecks({ ...asked(1), ...over });
    return world.published.map(checkOf).at(-1)?.rules;
  };
  const first = await stampWith({});
  const others = aRuleSet('app_1', 'set', {
    rules: [],
    digest: 'sha-256=:b3RoZXJSdWxlcw==:',
    rulesVersion: 2,
  });
  expect([
    await stampWith({ ruleSet: others }),
    await stampWith({ watch: aWatch({ blockTag: 'safe' }) }),
  ]).toEqual([expect.not.stringContaining(String(first)), expect.stringMatching(/ safe$/)]);
  // Rules that were changed and changed back.
  expect(await stampWith({ ruleSet: aRuleSet('app_1', 'set', { rulesVersion: 3 }) })).toBe(first);
});

test('a check asks for the blocks that its members are owed, and says so', async () => {
  const world = makeWorld();
  await world.requestChecks({ ...asked(1), owed: { '1': 7 } });
  const [part] = world.published;
  expect(part?.consistency.minBlock).toEqual({ '1': 7 });
  expect(part && checkOf(part)?.owed).toEqual({ '1': 7 });
});

test('a check says of each entry when its wallets were set, so that its answer is not taken for one of later wallets', async () => {
  const world = makeWorld();
  const walletsAt = ['2026-11-22T09:00:00.001Z', '2026-11-22T09:00:00.002Z'];
  const [first, second] = members(2).map((member, i) => ({ ...member, walletsAt: walletsAt[i] ?? '' }));
  await world.requestChecks({ ...asked(0), members: [first, second].filter((one) => one !== undefined) });
  expect(world.published.map(checkOf)[0]?.walletTimes).toEqual(walletsAt.map((at) => Date.parse(at)));
});

test('no check is requested for a deleted app, and its error stops no other app', async () => {
  const world = makeWorld({ isAppGone: true });
  expect(await world.requestChecks(asked(1))).toHaveLength(1);
  expect(world.published).toEqual([]);
});

test('a sweep that may not continue is not charged', async () => {
  const world = makeWorld();
  expect(await world.requestChecks({ ...asked(1), beforePart: async () => false })).toHaveLength(1);
  expect([world.charged, world.published]).toEqual([[], []]);
});

test('checks that surely could not be published are refunded, and the sweep does not wait for them', async () => {
  const asking: string[] = [];
  const lost: string[] = [];
  const ask = (world: ReturnType<typeof makeWorld>) =>
    world.requestChecks({
      ...asked(3),
      beforePart: async (requestId) => asking.push(requestId) > 0,
      afterLostPart: async (requestId) => void lost.push(requestId),
    });
  const away = makeWorld({ failure: new ServiceError('broker-unavailable', 'away') });
  await expect(ask(away)).rejects.toMatchObject({ code: 'broker-unavailable' });
  expect(away.refunded).toMatchObject([{ requestId: asking[0], count: 3, month: '2026-11' }]);
  expect([lost, away.given]).toEqual([asking, asking]);
  const unknown = makeWorld({ failure: new ServiceError('publish-unknown', 'perhaps') });
  await expect(ask(unknown)).rejects.toMatchObject({ code: 'publish-unknown' });
  expect([unknown.refunded, unknown.given, lost.length]).toEqual([[], [], 1]);
});

test('a part of a watch is bounded in the bytes of its result, as one of a batch is', async () => {
  const world = makeWorld();
  const rules = Array.from({ length: 100 }, (_, i) => ({
    ...{ type: 'NATIVE' as const, chainId: 1, minToken: '1' },
    roleId: `role ${i}`,
  }));
  const ruleSet = aRuleSet('app_1', 'set', { rules });
  await world.requestChecks({ ...asked(PART_ENTRIES_MAX), ruleSet });
  const boundOf = boundResults({ rules, hasProof: false });
  expect(world.published.length).toBeGreaterThan(1);
  expect(world.published.flatMap(({ entries }) => entries)).toHaveLength(PART_ENTRIES_MAX);
  for (const { entries } of world.published)
    expect(
      entries.reduce((sum, entry) => sum + boundOf(Buffer.byteLength(JSON.stringify(entry))), 0),
    ).toBeLessThanOrEqual(PART_RESULT_BYTES_MAX);
});

test('a watch whose sent events exceed the quota is charged the rest of it, and paused with the reason; so is one without bytes', async () => {
  const charges: object[] = [];
  const paused: string[] = [];
  const outcomes = ['charged', 'quota-exceeded', 'quota-share-exceeded', 'bytes-per-day'] as const;
  const deps = partially<Dependencies>({
    clientApps: { read: async () => ({ limits: { requestsPerMonth: 1_000 } }) as never },
    accounts: { read: async () => undefined },
    quota: { charge: async (charge) => outcomes[charges.push(charge) - 1] ?? 'charged' },
    pause: async (_, reason) => void paused.push(reason),
  });
  const events = { count: 3, month: '2026-11', areEvaluated: true };
  expect(await chargeChecks(deps, aWatch(), events)).toBe(true);
  const { clientId, accountId } = aWatch();
  expect(charges).toEqual([{ clientId, accountId, quotaShare: 0.5, requestsPerMonth: 1_000, ...events }]);
  expect(paused).toEqual([]);
  expect(await chargeChecks(deps, aWatch(), events)).toBe(false);
  expect(await chargeChecks(deps, aWatch(), events)).toBe(false);
  expect(await chargeChecks(deps, aWatch(), { count: 0, month: '2026-11' })).toBe(false);
  expect(paused).toEqual(['quota-exceeded', 'quota-share-exceeded', 'bytes-per-day']);
});
