import { DAY_MS } from '#shared/contracts/durations.ts';
import { watchUid } from '#shared/contracts/watches/watch.ts';
import { aClientApp } from '../../../test/support/builders/a-client-app.ts';
import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { aWatch } from '../../../test/support/builders/a-watch.ts';
import { partially } from '../../../test/support/builders/partially.ts';
import type { Dependencies } from '../dependencies.ts';
import { makeEraseDeleted } from './erase-deleted.ts';

const NOW = Date.parse('2026-11-27T12:00:00.000Z');

function makeWorld(over: {
  readonly deletedAgoMs?: number;
  readonly openDeliveries?: number;
  readonly committed?: number;
}) {
  const { deletedAgoMs = 1_000, openDeliveries = 0, committed = 5 } = over;
  const events: string[] = [];
  const note = (event: string) => async () => void events.push(event);
  const app = aClientApp('app_1', { deletedAt: new Date(NOW - deletedAgoMs).toISOString() });
  const watch = aWatch({ clientId: 'app_1' });
  const deps = partially<Dependencies>({
    kafka: {
      publish: async ({ name }) => void events.push(`publish ${name}`),
      erase: async ({ name }, key) => void events.push(`erase ${name} ${key}`),
      admin: {
        fetchTopicOffsets: async () => [{ partition: 0, offset: '5', low: '0', high: '5' }],
        fetchOffsets: async ({ topics = [] }: { topics?: string[] }) => [
          { topic: topics[0] ?? '', partitions: [{ partition: 0, offset: `${committed}`, metadata: null }] },
        ],
        fetchTopicMetadata: async () => ({ topics: [] }),
      },
    },
    accounts: {
      async eraseEnded(_untilMs, _count, eraseRecord) {
        await eraseRecord('acc_1');
        return 1;
      },
    },
    clientApps: {
      read: async () => app,
      listEnded: async () => ['app_1'],
      erase: async (clientId, _nowMs, eraseRecord) => eraseRecord(clientId),
    },
    ruleSets: {
      async *pagesOf() {
        yield [aRuleSet('app_1', 'vip')];
      },
      project: async ({ deletedAt }) => Boolean(events.push(`end rule set ${deletedAt}`)),
      eraseEnded: async () => 0,
    },
    watches: {
      async *pagesOf() {
        yield [watch];
      },
      setDue: async (uid) => void events.push(`due ${uid}`),
      eraseEnded: async () => 0,
    },
    watchMembers: { eraseRemoved: async () => 0 },
    deliveries: {
      page: async () => ({
        deliveries: Array.from({ length: openDeliveries }, () => ({}) as never),
        next: undefined,
      }),
      forget: note('forget deliveries'),
    },
    checkLog: { list: async () => [], forget: note('forget checks') },
    results: { forget: async () => undefined },
    batchList: { forget: note('forget batches') },
    now: () => NOW,
  });
  return { eraseDeleted: makeEraseDeleted(deps), events, uid: watchUid(watch) };
}

test('erases an app whose webhooks have ended, with all that it has, and its account', async () => {
  const { eraseDeleted, events, uid } = makeWorld({});
  await eraseDeleted();
  expect(events).toEqual([
    'publish rule-set.v1',
    `end rule set ${new Date(NOW).toISOString()}`,
    `due ${uid}`,
    'forget deliveries',
    'forget checks',
    'forget batches',
    'erase client-app.v1 app_1',
    'erase account.v1 acc_1',
  ]);
});

test('keeps an app while one of its webhooks is open, for two days at most', async () => {
  const open = makeWorld({ openDeliveries: 1 });
  await open.eraseDeleted();
  expect(open.events).toEqual(['erase account.v1 acc_1']);
  const old = makeWorld({ openDeliveries: 1, deletedAgoMs: 2 * DAY_MS });
  await old.eraseDeleted();
  expect(old.events).toContain('erase client-app.v1 app_1');
});

test('keeps an app while a consumer has not finished what it was sent before', async () => {
  jest.useFakeTimers({ advanceTimers: true });
  const { eraseDeleted, events } = makeWorld({ committed: 4 });
  const erasing = eraseDeleted();
  await jest.advanceTimersByTimeAsync(15_000);
  await erasing;
  jest.useRealTimers();
  expect(events).toEqual(['erase account.v1 acc_1']);
});
