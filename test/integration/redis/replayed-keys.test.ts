import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { audit } from '#shared/contracts/apps/audit.ts';
import { account, clientApp } from '#shared/contracts/apps/client-app.ts';
import {
  batchCompleted,
  checkRequestedBatch,
  isLastPart,
  roleIdsOf,
} from '#shared/contracts/batches/batch.ts';
import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { checkRequestedBulk } from '#shared/contracts/checks/check-requested.ts';
import { ruleSet, tombstoneOf } from '#shared/contracts/rules/rule-set.ts';
import { parseMessage, type Topic } from '#shared/contracts/topic.ts';
import { usage } from '#shared/contracts/usage/usage.ts';
import { type WatchMember, watch, watchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import {
  type WebhookAttempted,
  webhookAttempted,
  webhookRequested,
} from '#shared/contracts/webhooks/webhook.ts';
import { makeAdmitter } from '#shared/stores/checks/admit.ts';
import { savingOf } from '#shared/stores/checks/results.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';
import { makeWatchQuota } from '../../../services/watcher/members/watch-quota.ts';
import { aBatchPart, aBatchPartCompleted } from '../../support/builders/a-batch.ts';
import { aCheckCompleted, aWebhookOfCheck } from '../../support/builders/a-check-completed.ts';
import { aCheckRequested } from '../../support/builders/a-check-requested.ts';
import { aCheckResult } from '../../support/builders/a-check-result.ts';
import { aClientApp } from '../../support/builders/a-client-app.ts';
import { aRuleSet } from '../../support/builders/a-rule-set.ts';
import { aCheck, aMember, aWatch } from '../../support/builders/a-watch.ts';
import { dumpRedis } from '../../support/infrastructure/dump-redis.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { patternOf, REDIS_KEYS } from '../../support/judges/redis-keys.ts';

// Scenario: everything that services write to Redis is written by the functions that write it in the
// running system. Redis is wiped, and made again from the topics.

const stores = testStores(14);
const now = () => new Date().toISOString();

/** Names in the source that look like keys and are fields, channels or addresses. */
const NO_KEY =
  /^(of|app|account|granted|denied|undetermined|gained|lost|results|discord|localhost|rediss?|https?|node):|:changed$|^\d/;

test('every key that the source names is in the list of what a replay makes of it', () => {
  const files = globSync('{services,shared}/**/*.ts').filter(
    (file) => !file.endsWith('.test.ts') && !file.includes('/page/'),
  );
  const named = files
    .map((file) => readFileSync(file, 'utf8'))
    .filter((text) => /redis\/(connect|script|batched-script|fence)\.ts'|from 'ioredis'/.test(text))
    .flatMap((text) => [
      ...text.matchAll(/(?<=[=>([,:?] ?)[`']([a-z0-9-]+:(?:\$\{[^}]*\}|[^`'$ ])*)[`']/g),
      ...text.matchAll(/KEY = '([a-z0-9-]+)'/g),
    ])
    .map(([, key = '']) => key.replace(/\$\{[^}]*\}/g, '*'))
    .filter((key) => !NO_KEY.test(key));
  expect(named.length).toBeGreaterThan(50);
  const listed = Object.keys(REDIS_KEYS);
  // A script completes a name that ends in a colon or brace.
  const isListed = (key: string) =>
    listed.includes(key) || (/[:{]$/.test(key) && listed.some((pattern) => pattern.startsWith(key)));
  expect(named.filter((key) => !isListed(key) && !key.includes('<'))).toEqual([]);
});

test('what services write is equal after Redis was wiped and made again from the topics', async () => {
  await stores.redis.flushdb();
  await stores.replay();
  await writeEverything();
  const before = await comparableKeys();
  const ofWallet = await membersOfWallet();
  await stores.redis.flushdb();
  await stores.replay();
  const after = await comparableKeys();
  expect(Object.fromEntries(Object.keys(before).map((key) => [key, after[key]]))).toEqual(before);
  expect(ofWallet).toHaveLength(2);
  expect(await membersOfWallet()).toEqual(ofWallet);
  const written = new Set(Object.keys(before).map(patternOf));
  const replayed = Object.entries(REDIS_KEYS).filter(([, fate]) => fate === 'replayed' || 'except' in fate);
  expect(replayed.map(([pattern]) => pattern).filter((pattern) => !written.has(pattern))).toEqual([]);
});

/** By key, the values that a replay makes again. */
async function comparableKeys(): Promise<Record<string, unknown>> {
  const lines = (await dumpRedis(stores.connection)).split('\n').filter((line) => line !== '');
  const keys = lines.map((line) => line.slice(0, line.indexOf(' ')));
  expect(keys.filter((key) => patternOf(key) === undefined)).toEqual([]);
  return Object.fromEntries(
    lines.flatMap((line, i) => {
      const key = keys[i] ?? '';
      const fate = REDIS_KEYS[patternOf(key) ?? ''];
      if (fate === undefined || (fate !== 'replayed' && 'lost' in fate)) return [];
      const value: unknown = JSON.parse(line.slice(key.length + 1));
      return [[key, comparable(value, fate === 'replayed' ? /(?!)/ : fate.except)]];
    }),
  );
}

/** Without the excepted fields, and in one order. */
function comparable(value: unknown, except: RegExp): unknown {
  if (typeof value === 'string') return value.replace(except, '');
  if (Array.isArray(value)) return value.map((each) => comparable(each, except)).sort();
  return Object.fromEntries(
    Object.entries(value as Record<string, string>)
      .filter(([name]) => !except.test(name))
      .map(([name, text]) => [name, text.replace(except, '')] as const)
      .sort(([a], [b]) => a.localeCompare(b)),
  );
}

async function writeEverything(): Promise<void> {
  const views = openViews(stores.redis);
  const [clientId, accountId] = [`app_${randomUUID()}`, `acc_${randomUUID()}`];
  await writeDocuments(views, clientId, accountId);
  await writeMembers(views, clientId, accountId);
  await writeChecks(views, clientId, accountId);
  await writeBatches(views, clientId, accountId);
  await writeDeliveries(views, clientId, accountId);
  for (const appHour of await views.usageFigures.listRecent(Date.now()))
    if (appHour.clientId === clientId)
      await stores.kafka.publish(usage, await views.usageFigures.read(appHour));
}

type Views = ReturnType<typeof openViews>;

async function writeDocuments(views: Views, clientId: string, accountId: string): Promise<void> {
  const write = async <M>(topic: Topic<M>, project: (document: M) => Promise<unknown>, given: M) => {
    // Its members in the order that a topic has them.
    const document = parseMessage(topic, JSON.stringify(given));
    await stores.kafka.publish(topic, document);
    await project(document);
  };
  const about = { version: 1, tier: 'free', verified: true, createdAt: now() } as const;
  const email = (name: string) => `${name}-${accountId}@example.com`;
  await write(account, views.accounts.project, { ...about, accountId, email: email('one') });
  const gone = { ...about, accountId: `${accountId}-gone`, email: email('gone'), deletedAt: now() };
  await write(account, views.accounts.project, gone);
  const key = {
    ...{ keyId: 'key_1', hash: randomUUID(), name: 'k', prefix: 'rck', lastFour: '1234' },
    ...{ marketplace: true, permissions: ['check' as const], createdAt: now() },
  };
  const members = [{ accountId: `${accountId}-member`, role: 'viewer' as const, addedAt: now() }];
  await write(clientApp, views.clientApps.project, aClientApp(clientId, { accountId, keys: [key], members }));
  await write(
    clientApp,
    views.clientApps.project,
    aClientApp(`${clientId}-gone`, { accountId, deletedAt: now() }),
  );
  const set = aRuleSet(clientId, 'set');
  await write(ruleSet, views.ruleSets.project, set);
  await write(ruleSet, views.ruleSets.project, aRuleSet(clientId, 'old'));
  await write(ruleSet, views.ruleSets.project, tombstoneOf(aRuleSet(clientId, 'old'), now()));
  await write(watch, views.watches.project, aWatch({ clientId, accountId }));
  await write(
    watch,
    views.watches.project,
    aWatch({ clientId, accountId, watchId: 'old', deletedAt: now() }),
  );
  for (const kind of ['security', 'write'] as const)
    await write(audit, views.auditTrail.record, {
      ...{
        accountId,
        clientId,
        actor: 'somebody',
        action: 'app-changed',
        subject: clientId,
        kind,
        at: now(),
      },
    });
}

const WALLET = `0x${randomUUID().replaceAll('-', '')}00000001`;

async function membersOfWallet(): Promise<string[]> {
  const { watchMembers } = openViews(stores.redis);
  const pages = await Array.fromAsync(watchMembers.ofWallet(WALLET, 100));
  return pages
    .flat()
    .map(({ memberId }) => memberId)
    .sort();
}

/** As a watcher: the view, then the topic, then marked as sent. */
async function writeMembers({ watchMembers }: Views, clientId: string, accountId: string): Promise<void> {
  const at = aMember().addedAt;
  const role = (id: string, over: object = {}) => ({ id, granted: true, since: at, ...over });
  const about = {
    watchUid: watchUid(aWatch({ clientId })),
    wallets: { account: WALLET },
    checked: aCheck(1),
  };
  const members: WatchMember[] = [
    aMember({ ...about, memberId: 'holder', sequence: 1, roles: [role('a')] }),
    // A second member of the same wallet, and a revocation that is held.
    aMember({
      ...{ ...about, memberId: 'held' },
      roles: [role('a', { heldBack: { since: at, why: { cause: 'schedule' } } })],
    }),
    aMember({ ...about, memberId: 'gone', removedAt: now() }),
  ];
  for (const member of members) {
    await watchMembers.write(undefined, member);
    await stores.kafka.publish(watchMember, member);
    await watchMembers.markSent(member);
  }
  await makeWatchQuota(stores.redis).charge({
    ...{ clientId, accountId, count: 3, month: now().slice(0, 7), requestsPerMonth: 1_000, quotaShare: 0.5 },
  });
}

async function writeChecks(views: Views, clientId: string, accountId: string): Promise<void> {
  const { admit, markPublished } = makeAdmitter(stores.redis, Date.now);
  const claim = { keyHash: 'k', bodyHash: 'b' };
  const limits = { requestsPerSecond: 1_000, requestsPerMonth: 10_000 };
  const admission = await admit({
    ...{ clientId, accountId, limits, bucket: 'per-second' },
    check: { seed: '1.00', bytes: 1_000, claim },
  });
  const [requestId, acceptedAt] = [randomUUID(), new Date(admission.nowMs).toISOString()];
  const about = { requestId, accountId, acceptedAt, chargedMonth: acceptedAt.slice(0, 7) };
  await stores.kafka.publish(checkRequestedBulk, aCheckRequested(clientId, { ...about, idempotency: claim }));
  await markPublished({ clientId, keyHash: 'k', seed: '1.00', requestId });
  const result = aCheckCompleted(clientId, { ...about, resultJson: aCheckResult({}) });
  await stores.kafka.publish(checkCompleted, result);
  await views.results.saveIfAbsent(savingOf(result));
}

/** One whole batch, one of which a part has no results, and one that is not published as a whole. */
async function writeBatches({ batches }: Views, clientId: string, accountId: string): Promise<void> {
  for (const { published, done } of [
    { published: 2, done: 2 },
    { published: 2, done: 1 },
    { published: 1, done: 0 },
  ]) {
    const common = { requestId: randomUUID(), accountId, acceptedAt: now() };
    const parts = [0, 1]
      .slice(0, published)
      .map((part) => aBatchPart(clientId, { ...common, part, firstIndex: 2 * part }));
    for (const part of parts) {
      const batch = { ...part, roleIds: roleIdsOf(part.rules) };
      if (part.part === 0) await batches.begin(batch, undefined, 'seed');
      await stores.kafka.publish(checkRequestedBatch, part);
      if (isLastPart(part)) await batches.register(batch, true);
    }
    for (const { part, firstIndex, retainUntil } of parts.slice(0, done)) {
      const completed = aBatchPartCompleted(clientId, { ...common, part, firstIndex, retainUntil });
      await stores.kafka.publish(batchCompleted, completed);
      await batches.savePart(completed);
    }
  }
}

async function writeDeliveries(
  { results, deliveries }: Views,
  clientId: string,
  accountId: string,
): Promise<void> {
  for (const state of ['delivered', 'exhausted', 'pending'] as const) {
    const webhook = { ...aWebhookOfCheck(clientId, { accountId, resultJson: aCheckResult({}) }) };
    await stores.kafka.publish(webhookRequested, webhook);
    await deliveries.claim(webhook, 'webhook.requested.v1/0/1', Date.now());
    await results.saveIfAbsent(savingOf(webhook));
    const { requestId, callbackUrl, acceptedAt, retainUntil } = webhook;
    const attempted: WebhookAttempted = {
      ...{ requestId, clientId, accountId, callbackUrl, acceptedAt, retainUntil, resendCount: 0, attempt: 1 },
      ...{ at: now(), state, class: state === 'delivered' ? 'delivered' : 'timeout', durationMs: 1 },
    };
    await stores.kafka.publish(webhookAttempted, attempted);
    await deliveries.record(attempted);
  }
}
