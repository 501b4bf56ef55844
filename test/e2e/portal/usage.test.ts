/** @jest-environment ./test/support/jest/shared-system-environment.ts */
import { randomUUID } from 'node:crypto';
import { connectRedis } from '#shared/redis/connect.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks, type WebhookReceiver } from '../../support/fakes/receive-webhooks.ts';
import { testContext } from '../../support/infrastructure/connections.ts';
import { dumpRedis } from '../../support/infrastructure/dump-redis.ts';
import { findSecrets } from '../../support/judges/find-secrets.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';
import {
  type CreatedApp,
  createApp,
  makePortalClient,
  PASSWORD,
  type PortalClient,
  signUp,
} from '../../support/systems/start-portal.ts';
import { waitUntil, waitUntilPasses } from '../../support/wait-until.ts';

// Scenario: a developer with an app on a whole system, with a real chain. The portal shows the
// events that happened: the gateway's own counts and the receiver's own webhooks.

const system = sharedSystem();
let receiver: WebhookReceiver;
let developer: PortalClient;
let app: CreatedApp;

type Day = Readonly<
  Record<
    'sync' | 'poll' | 'webhook' | 'completed' | 'failed' | 'granted' | 'denied' | 'refused' | 'bytes',
    number
  >
>;
type Usage = {
  readonly month: { readonly used: number; readonly quota: number };
  readonly days: readonly Day[];
  readonly hours: readonly (Day & { readonly hour: string })[];
  readonly keys: readonly { readonly keyId: string; readonly checks: number }[];
  readonly totals: { readonly p50Ms: number; readonly p95Ms: number; readonly undeterminedShare: number };
};
type Delivery = { readonly requestId: string; readonly state: string; readonly attempts: number };
const own = (path: string) => `/api/apps/${app.clientId}${path}`;
const readUsage = async () => (await developer.get<Usage>(own('/usage'))).body;
const listDeliveries = async (query = '') =>
  (await developer.get<{ deliveries: Delivery[]; next?: string }>(own(`/deliveries${query}`))).body;

beforeAll(async () => {
  developer = await signUp(system.ready.portal);
  app = await createApp(developer);
  receiver = await system.use(receiveWebhooks({ secret: app.webhookSecret }));
  await developer.send('POST', own('/scope'), { purpose: 'gate a forum' });
  const operator = makePortalClient(system.ready.portal);
  await operator.send('POST', '/api/sign-in', system.ready.operator);
  expect((await operator.send('POST', `/api/operator/apps/${app.clientId}/approve`)).status).toBe(200);
});

const RULES = () => [demoRules(system.chain).erc20(), demoRules(system.chain).erc20({ minToken: '9999999' })];
const client = () => system.clientOf(app.apiKey);
const post = (more: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  client().check({ account: system.chain.holder, rules: RULES(), ...more }, headers);

test('usage shows the counts of the gateway by mode and outcome, and counts no duplicate', async () => {
  // At ten requests a second, some of 40 concurrent ones are refused: each answer shows which.
  const accepted = { sync: 0, poll: 0, webhook: 0 };
  let refused = 0;
  const modes = [{}, { async: true }, { callbackUrl: receiver.url }];
  for (let round = 0; round < 4; round++)
    await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const { status } = await post(modes[i % 3]);
        const mode = (['sync', 'poll', 'webhook'] as const)[i % 3] ?? 'sync';
        if (status === 429) refused += 1;
        else accepted[mode] += 1;
      }),
    );
  const key = randomUUID();
  for (let i = 0; i < 3; i++)
    await waitUntil('the same check to be answered', async () => {
      const { status } = await post({}, { 'idempotency-key': key });
      if (status === 429) refused += 1;
      return status === 200;
    });
  accepted.sync += 1;
  const all = accepted.sync + accepted.poll + accepted.webhook;
  await waitUntilPasses(async () => {
    const { days, hours, keys, month, totals } = await readUsage();
    expect(days).toHaveLength(30);
    expect(hours).toHaveLength(48);
    const sumOf = (field: keyof Day) => hours.reduce((sum, hour) => sum + hour[field], 0);
    expect([sumOf('completed'), sumOf('granted'), sumOf('refused')]).toEqual([all, all, refused]);
    expect(keys.map(({ checks }) => checks)).toEqual([all]);
    expect(days.at(-1)).toMatchObject({ ...accepted, completed: all, failed: 0, refused });
    expect(days.at(-1)).toMatchObject({ granted: all, denied: all });
    expect(month).toMatchObject({ used: all, quota: 10_000 });
    expect(totals).toMatchObject({ undeterminedShare: 0 });
    expect(totals.p95Ms).toBeGreaterThanOrEqual(totals.p50Ms);
  });
  await waitUntil('all webhooks to be listed as delivered', async () => {
    const { deliveries } = await listDeliveries('?state=delivered&limit=100');
    return deliveries.length === accepted.webhook;
  });
});

test('deliveries are listed once each, in pages, and a failed one can be resent', async () => {
  const all = (await listDeliveries('?limit=100')).deliveries.map(({ requestId }) => requestId);
  const paged: string[] = [];
  let after = '';
  for (let pages = 0; pages <= all.length; pages++) {
    const { deliveries, next } = await listDeliveries(`?limit=3${after}`);
    paged.push(...deliveries.map(({ requestId }) => requestId));
    if (next === undefined) break;
    after = `&after=${next}`;
  }
  expect(paged).toEqual(all);
  receiver.setAnswer(410);
  const { requestId = '' } = (await post({ callbackUrl: receiver.url })).body;
  await waitUntil('the delivery to stop', async () => {
    const { deliveries } = await listDeliveries('?state=stopped');
    return deliveries.some((delivery) => delivery.requestId === requestId);
  });
  receiver.setAnswer(204);
  expect((await developer.send('POST', own(`/deliveries/${requestId}/resend`))).status).toBe(202);
  const shown = await waitUntil('the delivery to arrive', async () => {
    const { body } = await developer.get<{ state: string; attempts: { status?: number }[] }>(
      own(`/deliveries/${requestId}`),
    );
    return body.state === 'delivered' && body;
  });
  expect(shown.attempts.map(({ status }) => status)).toEqual([410, 204]);
});

test('a test event is signed like a webhook, has its own type, and is sent at most once in 20 s', async () => {
  const { clientId, webhookSecret } = await createApp(developer, 'Tested');
  await using tested = await receiveWebhooks({ secret: webhookSecret });
  const send = () =>
    developer.send<{ requestId: string }>('POST', `/api/apps/${clientId}/test-event`, {
      callbackUrl: tested.url,
    });
  const first = await send();
  expect(first.status).toBe(202);
  const received = await tested.waitFor(({ id }) => id === `msg_${first.body.requestId}`);
  expect(received.verified).toBe(true);
  expect(JSON.parse(received.body)).toMatchObject({
    type: 'test',
    requestId: first.body.requestId,
    roles: [],
  });
  // A busy machine may take 20 s for one pair, but not for every pair.
  const refused = await waitUntil('the second of two to be refused', async () => {
    const answers = await Promise.all([send(), send()]);
    return answers.find(({ status }) => status === 429);
  });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('a resend and a test event that are requested again, as after a lost answer, are sent once', async () => {
  const attemptsOf = async (requestId: string) =>
    (await developer.get<{ attempts?: unknown[] }>(own(`/deliveries/${requestId}`))).body.attempts?.length ??
    0;
  const twice = async (path: string, body?: unknown, isSettled = async () => true) => {
    const headers = { 'idempotency-key': randomUUID() };
    const one = await developer.send<{ requestId: string }>('POST', own(path), body, headers);
    await waitUntil('the sent messages to arrive', isSettled);
    const two = await developer.send('POST', own(path), body, headers);
    expect([two.status, two.body]).toEqual([202, one.body]);
    return one.body;
  };
  receiver.setAnswer(410);
  const { requestId = '' } = (await post({ callbackUrl: receiver.url })).body;
  await waitUntil('the delivery to stop', async () =>
    (await listDeliveries('?state=stopped')).deliveries.some((one) => one.requestId === requestId),
  );
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const attemptsAre = (count: number) => async () => (await attemptsOf(requestId)) === count;
  await twice(`/deliveries/${requestId}/resend`, undefined, attemptsAre(2));
  expect(await twice('/deliveries/resend-failed', { since }, attemptsAre(3))).toEqual({ count: 1 });
  receiver.setAnswer(204);
  const callbackUrl = `${receiver.url}?once`;
  const headers = { 'idempotency-key': randomUUID() };
  const answers = await Promise.all(
    [1, 2].map(() =>
      developer.send<{ requestId: string }>('POST', own('/test-event'), { callbackUrl }, headers),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual([202, 202]);
  const sent = answers.map(({ body }) => body.requestId);
  expect(new Set(sent).size).toBe(1);
  await waitUntil('the test event to arrive', async () => (await attemptsOf(sent[0] ?? '')) > 0);
  // A second one would have been published by now, before this one.
  expect((await developer.send('POST', own(`/deliveries/${requestId}/resend`))).status).toBe(202);
  await waitUntil('the last one to arrive', attemptsAre(4));
  expect(await attemptsOf(sent[0] ?? '')).toBe(1);
  const { body: trail } = await developer.get<{ action: string }[]>(own('/audit'));
  const count = (action: string) => trail.filter((entry) => entry.action === action).length;
  expect([count('webhooks-resent'), count('test-event-sent')]).toEqual([1, 1]);
});

test('a rebuilt Redis shows the same usage, apps and audit trail, and holds no secret', async () => {
  const connection = await system.use(
    connectRedis({ url: system.ready.redis, dependencyWaitMs: 60_000 }, testContext()),
  );
  const look = async () => ({
    usage: await readUsage(),
    app: (await developer.get(own(''))).body,
    trail: (await developer.get(own('/audit'))).body,
  });
  const { requestId: last = '' } = (await post({ async: true })).body;
  await waitUntil('the last check', async () => (await client().poll(last)).status === 200);
  // Refusals and bytes are only in the hourly totals, which are published once a minute.
  const before = await look();
  const refusedNow = before.usage.days.at(-1)?.refused ?? 0;
  await connection.redis.flushdb();
  const rebuilt = await system.admin('store', 'rebuild');
  expect(rebuilt.exitCode).toBe(0);
  await waitUntil('the portal to answer', async () => {
    const { status } = await developer.send('POST', '/api/sign-in', {
      email: developer.email,
      password: PASSWORD,
    });
    return status === 200;
  });
  const withoutRefused = ({ usage, app: shown, trail }: Awaited<ReturnType<typeof look>>) => ({
    month: usage.month,
    days: usage.days.map(({ refused: _, bytes: __, ...day }) => day),
    // The list moves on when an hour ends meanwhile.
    hours: usage.hours.flatMap(({ refused: _, bytes: __, ...hour }) => (hour.completed > 0 ? [hour] : [])),
    keys: usage.keys,
    percentiles: [usage.totals.p50Ms, usage.totals.p95Ms],
    // The time of a key's last use is a convenience that is not rebuilt.
    shown: JSON.stringify(shown, (name, value: unknown) => (name === 'lastUsedAt' ? undefined : value)),
    trail,
  });
  await waitUntilPasses(async () => {
    const after = await look();
    expect(withoutRefused(after)).toEqual(withoutRefused(before));
    expect(after.usage.days.at(-1)?.refused).toBeLessThanOrEqual(refusedNow);
  });

  const secrets = {
    developerKey: app.apiKey.slice(13),
    developerSecret: app.webhookSecret.replace('whsec_', ''),
    password: PASSWORD,
    // Before its dot is the id of the account, which is no secret.
    session: developer.token()?.split('.').at(-1) ?? '',
  };
  expect(findSecrets(system, secrets)).toEqual([]);
  const dump = await dumpRedis(connection);
  expect(Object.entries(secrets).filter(([, secret]) => dump.includes(secret.slice(0, 20)))).toEqual([]);
});

test('the portal answers 503 while Redis is away, and recovers by itself', async () => {
  const [pid] = system.pidsOf('redis');
  if (pid === undefined) throw new Error('no Redis runs');
  process.kill(pid, 'SIGSTOP');
  try {
    const asked = await developer.hasty().get(own(''));
    expect(asked).toMatchObject({ status: 503, body: { code: 'dependency-unavailable' } });
    const created = await developer.hasty().send('POST', '/api/apps', { name: 'x' });
    expect(created.status).toBe(503);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await waitUntil('the portal to answer again', async () => (await developer.get(own(''))).status === 200);
});
