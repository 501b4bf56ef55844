import type { WatchMember } from '#shared/contracts/watches/watch.ts';
import type { Admission, AdmitOutcome, AdmitRequest } from '#shared/stores/checks/admit.ts';
import { aMember, aWatch } from '../../../test/support/builders/a-watch.ts';
import { ACCOUNT, accountOf, linesOf, NDJSON, RULES } from '../../../test/support/fakes/batch-bodies.ts';
import {
  anAdmission,
  anAppWhoseKeyMay,
  type FakeGateway,
  type FakeOptions,
  NOW_MS,
} from '../../../test/support/fakes/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../../test/support/fakes/fake-gateways.ts';

const start = fakeGateways();
const since = '2026-11-20T00:00:00.000Z';
const PREVIEW = { watch: 'members', rules: RULES };

/** A gateway with a watch of these members, which it pages by `pageMax` at most. */
const startWith = (
  members: () => readonly WatchMember[],
  options: FakeOptions = {},
  { pageMax = 500, onRead = () => undefined }: { pageMax?: number; onRead?: () => void } = {},
) =>
  start({
    ...options,
    watches: {
      watches: {
        read: async (_, id) => (id === 'members' ? aWatch({ watchId: id }) : undefined),
        list: async () => ({ watches: [], next: undefined }),
      },
      watchMembers: {
        readMany: async () => [],
        count: async () => members().length,
        page: async (_uid, { after = '', countMax }) => {
          onRead();
          const left = members().filter(({ memberId }) => memberId > after);
          const page = left.slice(0, Math.min(countMax, pageMax));
          return { members: page, next: page.length < left.length ? page.at(-1)?.memberId : undefined };
        },
      },
    },
  });

const memberOf = (index: number, over: Partial<WatchMember> = {}): WatchMember => {
  const memberId = `discord:${String(index).padStart(6, '0')}`;
  return aMember({ memberId, wallets: { account: accountOf(index) }, ...over });
};
/** Admissions of which each trial ends like this. */
const refuseTrials =
  (outcome: AdmitOutcome) =>
  async (request: AdmitRequest): Promise<Admission> =>
    anAdmission(request, request.check?.isTrial ? { outcome } : {});
const membersOf = (count: number) => Array.from({ length: count }, (_, index) => memberOf(index));

describe('a preview', () => {
  it('takes the members of the watch in their order, with their wallets and their verdicts on the previewed roles', async () => {
    const revoked = {
      id: 'holder',
      granted: true,
      since,
      heldBack: { since, why: { cause: 'schedule' as const } },
    };
    const members = [
      aMember({ memberId: ACCOUNT.toLowerCase(), wallets: { account: ACCOUNT }, roles: [revoked] }),
      memberOf(1, {
        wallets: {
          ...{ account: accountOf(1), accounts: [accountOf(1), accountOf(2)] },
          vaults: [accountOf(9)],
        },
        roles: [
          { id: 'holder', granted: false, since },
          { id: 'other', granted: true, since },
        ],
      }),
      memberOf(2, { roles: [{ id: 'other', granted: true, since }] }),
    ];
    const gateway = await startWith(() => members, {}, { pageMax: 1 });
    const response = await gateway.postBatch(PREVIEW);
    expect([response.status, await response.json()]).toEqual([
      202,
      { requestId: expect.any(String), entries: 3 },
    ]);
    expect(gateway.parts).toHaveLength(1);
    expect(gateway.parts[0]).toMatchObject({ previewDigest: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(gateway.parts[0]?.entries).toEqual([
      { account: ACCOUNT, before: { holder: true } },
      {
        account: accountOf(1),
        accounts: [accountOf(1), accountOf(2)],
        vaults: [accountOf(9)],
        ref: 'discord:000001',
        before: { holder: false },
      },
      { account: accountOf(2), ref: 'discord:000002' },
    ]);
    expect(gateway.admitted.at(-1)?.check?.cost).toBe(3);
  });

  it('may take more members than its tier allows entries', async () => {
    const gateway = await startWith(() => membersOf(1_200));
    const response = await gateway.postBatch(PREVIEW);
    expect([response.status, ((await response.json()) as { entries: number }).entries]).toEqual([202, 1_200]);
    expect(gateway.parts.map(({ entries }) => entries.length)).toEqual([500, 500, 200]);
  });

  it('is no preview where entries are sent, whatever they hold', async () => {
    const gateway = await startWith(() => membersOf(1));
    const entry = { account: ACCOUNT, before: { holder: true } };
    expect((await gateway.postBatch({ entries: [entry], rules: RULES })).status).toBe(422);
    expect((await gateway.postBatch({ entries: [ACCOUNT], rules: RULES })).status).toBe(202);
    expect(gateway.parts[0]).not.toHaveProperty('previewDigest');
  });
});

describe('the faults of a preview', () => {
  const largeRoles = Array.from({ length: 60 }, (_, index) => ({
    ...RULES[0],
    roleId: String(index).padStart(128, 'r'),
  }));
  const large = () =>
    membersOf(2_100).map((member) => ({
      ...member,
      roles: largeRoles.map(({ roleId }) => ({ id: roleId, granted: true, since })),
    }));
  const accounts = Array.from({ length: 16 }, (_, i) => accountOf(i));
  const manyWallets = () => [memberOf(1, { wallets: { account: accountOf(0), accounts } })];
  const costly = Array.from({ length: 13 }, (_, i) => ({
    ...{ type: 'ERC20', chainId: 1, roleId: 'r' },
    contractAddress: accountOf(i),
  }));
  const many = Array.from({ length: 100 }, (_, index) => ({ ...RULES[0], roleId: `r${index}` }));

  it.each<[string, object, string, string, (() => WatchMember[])?]>([
    ['an unknown watch', { ...PREVIEW, watch: 'others' }, 'watch-unknown', '/watch watch-unknown'],
    ['a malformed id', { ...PREVIEW, watch: '../x' }, 'watch-unknown', '/watch watch-unknown'],
    ['a number for an id', { ...PREVIEW, watch: 7 }, 'validation-failed', '/watch wrong-type'],
    ['null for an id', { ...PREVIEW, watch: null }, 'validation-failed', '/watch wrong-type'],
    ['an empty watch', PREVIEW, 'validation-failed', '/watch too-short', () => []],
    ['entries beside it', { ...PREVIEW, entries: [ACCOUNT] }, 'validation-failed', '/entries not-allowed'],
    ['no rules', { watch: 'members' }, 'validation-failed', '/rules required'],
    [
      'entries that are too large',
      { ...PREVIEW, rules: largeRoles },
      'batch-too-large',
      '/watch batch-too-large',
      large,
    ],
    [
      'too many members for its rules',
      { ...PREVIEW, rules: many },
      'batch-too-large',
      '/watch batch-too-large',
      () => membersOf(10_001),
    ],
    [
      'a member that needs too many reads',
      { ...PREVIEW, rules: costly },
      'too-many-reads',
      '/watch too-many-reads',
      manyWallets,
    ],
  ])('are %s', async (_, body, code, expected, members = () => membersOf(2)) => {
    const gateway = await startWith(members);
    const response = await gateway.postBatch(body);
    const problem = await problemOf(response);
    const [fault] = problem['errors'] as { pointer: string; code: string }[];
    expect([response.status, problem['code'], `${fault?.pointer} ${fault?.code}`]).toEqual([
      422,
      code,
      expected,
    ]);
    expect(gateway.parts).toEqual([]);
    expect(gateway.admitted.every(({ check }) => check === undefined || check.isTrial)).toBe(true);
  });

  it.each<[string, FakeOptions, number, string]>([
    ['the quota', { admit: refuseTrials('quota-exceeded') }, 429, 'monthly-quota-exceeded'],
    ["the account's bytes of the day", { admit: refuseTrials('bytes-exceeded') }, 429, 'rate-limited'],
    ['the lane', { admit: refuseTrials('lane-full') }, 503, 'overloaded'],
    ['unfinished batches', { unfinished: 2 }, 409, 'limit-reached'],
  ])('are, before any member is read, %s without room for it', async (_, options, status, code) => {
    const onRead = jest.fn();
    const gateway = await startWith(() => membersOf(7), options, { onRead });
    for (const headers of [{}, { 'idempotency-key': 'k' }]) {
      const response = await gateway.postBatch(PREVIEW, headers);
      expect([response.status, (await problemOf(response))['code']]).toEqual([status, code]);
    }
    const trials = gateway.admitted.flatMap(({ check }) => check ?? []);
    // With a key it may be a replay: there is no trial before its members are counted.
    expect(trials).toEqual([1, 7].map((cost) => expect.objectContaining({ isTrial: true, cost })));
    expect(onRead).not.toHaveBeenCalled();
  });

  it('are a lane with too much lag, also before any member is read', async () => {
    const onRead = jest.fn();
    const gateway = await startWith(() => membersOf(7), { isOverloaded: () => true }, { onRead });
    expect((await gateway.postBatch(PREVIEW, { 'idempotency-key': 'k' })).status).toBe(503);
    expect(onRead).not.toHaveBeenCalled();
  });

  it.each([
    ['check', 'read'],
    ['read', 'check'],
  ] as const)('are the permission of a key that may only %s', async (permission, missing) => {
    const gateway = await startWith(() => membersOf(1), { app: anAppWhoseKeyMay([permission]) });
    for (const body of [PREVIEW, { ...PREVIEW, watch: 'others' }, { ...PREVIEW, rules: [] }]) {
      const response = await gateway.postBatch(body);
      const problem = await problemOf(response);
      expect([response.status, problem['code']]).toEqual([403, 'permission-missing']);
      expect(problem['detail']).toContain(`"${missing}"`);
    }
    expect(gateway.parts).toEqual([]);
  });

  it('are its media type, if it is NDJSON', async () => {
    const gateway = await startWith(() => membersOf(1));
    const response = await gateway.postBatch(linesOf(PREVIEW, []), NDJSON);
    expect([response.status, (await problemOf(response))['code']]).toEqual([415, 'media-type-unsupported']);
  });
});

describe('the retry of a preview', () => {
  const KEY = { 'idempotency-key': 'k' };
  /** A gateway on which the first request of a key was charged and wrote a part, but not all. */
  async function startInterrupted(members: () => readonly WatchMember[]) {
    let seed: string | undefined;
    let isAway = true;
    const gateway: FakeGateway = await startWith(members, {
      publishPart: async ({ part }) => {
        if (isAway && part > 0) throw new Error('the gateway died');
      },
      admit: async (request) => {
        if (!request.check) return anAdmission(request);
        if (seed !== undefined) {
          const claim = { atMs: NOW_MS, seed, requestId: undefined, month: '2026-11' };
          return anAdmission(request, { outcome: request.check.isTrial ? 'counted' : 'taken-over', claim });
        }
        if (request.check.isTrial) return anAdmission(request);
        seed = request.check.seed;
        return anAdmission(request);
      },
    });
    expect((await gateway.postBatch(PREVIEW, KEY)).status).toBeGreaterThanOrEqual(500);
    isAway = false;
    return gateway;
  }

  it('publishes the same parts if it finds the same members', async () => {
    const gateway = await startInterrupted(() => membersOf(700));
    const [written] = gateway.parts.splice(0);
    expect((await gateway.postBatch(PREVIEW, KEY)).status).toBe(202);
    expect(gateway.parts).toHaveLength(2);
    expect(gateway.parts.find(({ part }) => part === 0)).toEqual(written);
  });

  it.each<[string, (members: readonly WatchMember[]) => readonly WatchMember[]]>([
    ['other members', (members) => members.slice(1)],
    [
      'members with other verdicts',
      ([first = memberOf(0), ...others]) => [
        { ...first, roles: [{ id: 'holder', granted: true, since }] },
        ...others,
      ],
    ],
  ])('that finds %s is refused, and publishes nothing', async (_, change) => {
    let members: readonly WatchMember[] = membersOf(700);
    const gateway = await startInterrupted(() => members);
    gateway.parts.splice(0);
    members = change(members);
    const response = await gateway.postBatch(PREVIEW, KEY);
    expect([response.status, (await problemOf(response))['code']]).toEqual([409, 'idempotency-key-in-use']);
    expect(response.headers.get('retry-after')).toBe('1');
    expect([gateway.parts, gateway.released, gateway.withdrawn]).toEqual([[], [], []]);
  });

  it('of one that was accepted is answered as the first request, whatever the watch is now', async () => {
    let members: readonly WatchMember[] = membersOf(2);
    const replayed = { atMs: NOW_MS, seed: 'seed', requestId: 'req_1', month: '2026-11' };
    const onRead = jest.fn();
    const admit = async (request: AdmitRequest) =>
      anAdmission(request, request.check ? { outcome: 'published', claim: replayed } : {});
    const gateway = await startWith(() => members, { admit }, { onRead });
    gateway.storeBatch(
      {
        ...{ requestId: 'req_1', status: 'pending', entries: 2, done: 0, roles: [] },
        acceptedAt: new Date(NOW_MS).toISOString(),
      },
      [],
    );
    for (const now of [members, membersOf(7), []]) {
      members = now;
      const response = await gateway.postBatch(PREVIEW, KEY);
      expect([response.status, await response.json()]).toEqual([202, { requestId: 'req_1', entries: 2 }]);
      expect(response.headers.get('idempotency-replayed')).toBe('true');
    }
    expect(gateway.parts).toEqual([]);
    expect(onRead).not.toHaveBeenCalled();
  });
});
