import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import type { Watch } from '#shared/contracts/watches/watch.ts';
import { aClientApp } from '../../../../test/support/builders/a-client-app.ts';
import { aWatch } from '../../../../test/support/builders/a-watch.ts';
import { partially } from '../../../../test/support/builders/partially.ts';
import type { Message } from '../accounts/mailer.ts';
import { makeSendNotices } from './send-notices.ts';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const DECIDED = { scopeRequestedAt: '2026-11-21T08:00:00.000Z', scopeDecidedAt: '2026-11-21T09:00:00.000Z' };
const HELD = [{ id: 'gold', holders: 30, revocations: 25, heldAt: '2026-11-21T09:00:00.000Z' }];

const anAccount = (over: Partial<Account> = {}): Account => ({
  accountId: 'acc_1',
  version: 1,
  email: 'dev@example.com',
  tier: 'free',
  verified: true,
  createdAt: '2026-11-01T10:00:00.000Z',
  ...over,
});

/** Portals on one Redis, whose keys expire by the test's clock. */
function setUp({
  account = anAccount(),
  app = {},
  watches = [aWatch({ held: HELD })],
}: {
  account?: Account;
  app?: Partial<ClientApp>;
  watches?: Watch[];
} = {}) {
  const clock = { nowMs: NOW };
  const mails: Message[] = [];
  const server = { takes: true };
  const keys = new Map<string, number>();
  const stop = new AbortController();
  const portal = () =>
    makeSendNotices(
      partially<Parameters<typeof makeSendNotices>[0]>({
        redis: {
          set: (async (key: string, _value: string, _px: string, ms: number) => {
            if ((keys.get(key) ?? 0) > clock.nowMs) return null;
            keys.set(key, clock.nowMs + ms);
            return 'OK';
          }) as never,
          exists: (async (key: string) => ((keys.get(key) ?? 0) > clock.nowMs ? 1 : 0)) as never,
          del: (async (...removed: string[]) => void removed.map((key) => keys.delete(key))) as never,
        },
        clientApps: {
          scan: async (cursor) =>
            cursor === '0'
              ? { documents: [aClientApp('app_1', { ...DECIDED, ...app })], cursor: '7' }
              : { documents: [], cursor: undefined },
        },
        watches: { scan: async () => ({ documents: watches, cursor: undefined }) },
        accounts: { read: async (id) => (id === account.accountId ? account : undefined) },
        deliveries: { listIds: async () => [], readMany: async () => [], countFailedSince: async () => 0 },
        mail: {
          origin: 'https://portal.example.com',
          mailer: {
            async send(_owner, make) {
              const message = await make();
              if (message && server.takes) mails.push(message);
              return server.takes;
            },
          },
        },
        now: () => clock.nowMs,
        stopping: stop.signal,
      }),
    );
  return { portal, mails, server, clock, keys, stop };
}

test('an owner gets one message for all that is new', async () => {
  const { portal, mails } = setUp();
  await portal()();
  expect(mails).toHaveLength(1);
  expect(mails[0]).toMatchObject({ to: 'dev@example.com' });
  for (const words of ['was approved', 'holds back 25']) expect(mails[0]?.text).toContain(words);
});

test('of several portals one looks, once an hour', async () => {
  const { portal, mails, clock } = setUp();
  await Promise.all([portal()(), portal()()]);
  clock.nowMs += 3_500_000;
  await portal()();
  expect(mails).toHaveLength(1);
});

test('a matter is told once a day, as long as it lasts', async () => {
  const { portal, mails, clock } = setUp();
  for (; clock.nowMs < NOW + 2 * DAY_MS; clock.nowMs += 3_600_000) await portal()();
  expect(mails.map(({ text }) => text.includes('holds back'))).toEqual([true, true]);
});

test('of many matters twenty are composed and named, the others are counted, and none is told again', async () => {
  let composed = 0;
  const watches = Array.from({ length: 40 }, (_, i) => {
    const one = {
      ...HELD[0],
      get id() {
        composed++;
        return `role-${i}`;
      },
    };
    return aWatch({ watchId: `watch-${i}`, held: [one as (typeof HELD)[number]] });
  });
  const { portal, mails, clock } = setUp({ app: { scope: 'approved' }, watches });
  await portal()();
  clock.nowMs += 3_600_000;
  await portal()();
  expect(mails).toHaveLength(1);
  expect(mails[0]?.text).toContain('"watch-18"');
  expect(mails[0]?.text).not.toContain('"watch-19"');
  expect(mails[0]?.text).toContain('And 21 more.');
  expect(composed).toBe(19);
});

test('a message that the server did not take is sent again an hour later', async () => {
  const { portal, mails, server, clock } = setUp();
  server.takes = false;
  await portal()();
  server.takes = true;
  clock.nowMs += 3_600_000;
  await portal()();
  expect(mails).toHaveLength(1);
});

test.each([
  ['that turned it off', anAccount({ noNotices: true })],
  ['that was deleted', anAccount({ deletedAt: '2026-11-21T09:00:00.000Z' })],
  ['that is unknown', anAccount({ accountId: 'acc_2' })],
])('an account %s gets none', async (_, account) => {
  const { portal, mails } = setUp({ account });
  await portal()();
  expect(mails).toEqual([]);
});

test('an app that is suspended or deleted has no matter', async () => {
  for (const app of [{ suspended: true }, { deletedAt: '2026-11-21T09:00:00.000Z' }]) {
    const { portal, mails } = setUp({ app });
    await portal()();
    expect(mails[0]?.text).not.toContain('was approved');
  }
});

test('nothing in Redis names an account or a watch', async () => {
  const { portal, keys } = setUp();
  await portal()();
  expect([...keys.keys()].join()).not.toMatch(/acc_1|app_1/);
  expect(keys.size).toBe(3);
});

test('a stopping portal sends no further message', async () => {
  const { portal, mails, stop } = setUp();
  stop.abort();
  await expect(portal()()).rejects.toThrow();
  expect(mails).toEqual([]);
});
