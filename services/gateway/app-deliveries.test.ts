import { aboutWatchEventId, memberEventId } from '#shared/contracts/watches/watch-event.ts';
import { ServiceError } from '#shared/errors.ts';
import type { AttemptView, DeliveryView } from '#shared/stores/webhooks/deliveries.ts';
import { aMember } from '../../test/support/builders/a-watch.ts';
import { type FakeOptions, NOW_MS } from '../../test/support/fakes/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../test/support/fakes/fake-gateways.ts';

/** Webhook deliveries at the gateway's HTTP surface, over fakes. */

const startGateway = fakeGateways();
const PATH = '/access-control/deliveries';
const AT = new Date(NOW_MS).toISOString();
const anAttempt = (over: Partial<AttemptView> = {}): AttemptView => ({
  attempt: 1,
  resendCount: 0,
  at: AT,
  status: 500,
  durationMs: 12.5,
  class: 'http-5xx',
  ...over,
});
const aDelivery = (requestId: string, over: Partial<DeliveryView> = {}): DeliveryView => ({
  requestId,
  clientId: 'app_1',
  callbackUrl: 'https://hooks.example/x',
  state: 'exhausted',
  resendCount: 0,
  acceptedAt: AT,
  retainUntil: AT,
  nextAttemptAt: undefined,
  attempts: [anAttempt(), anAttempt({ attempt: 2, status: undefined, class: 'timeout' })],
  ...over,
});

async function start(views: readonly DeliveryView[], over: FakeOptions['deliveries'] = {}) {
  const pages: unknown[] = [];
  const resent: unknown[] = [];
  const audited: string[] = [];
  const gateway = await startGateway({
    deliveries: {
      deliveries: {
        async page(clientId, options) {
          pages.push([clientId, options]);
          const deliveries = views.filter((view) => view.clientId === clientId).slice(0, options.countMax);
          return { deliveries, next: deliveries.at(-1)?.requestId };
        },
        read: async (requestId) => views.find((view) => view.requestId === requestId),
      },
      resends: {
        async resend(requestId, { resendCount } = {}) {
          resent.push([requestId, resendCount]);
          return { requestId };
        },
      },
      recordAudit: async ({ clientId, actor, action, subject }) =>
        void audited.push(`${clientId} ${actor} ${action} ${subject}`),
      ...over,
    },
  });
  return { ...gateway, pages, resent, audited };
}

test('a list has type, state, number of attempts and last attempt of each delivery of the calling app', async () => {
  const gateway = await start([aDelivery('r_1'), aDelivery('r_2', { clientId: 'app_2' })]);
  const answer = await gateway.get(`${PATH}?state=exhausted&limit=7&after=msg_r_0`);
  expect([answer.status, await answer.json()]).toEqual([
    200,
    {
      deliveries: [
        {
          webhookId: 'msg_r_1',
          type: 'check.completed',
          requestId: 'r_1',
          state: 'exhausted',
          attempts: 2,
          lastAttempt: { at: AT, class: 'timeout' },
        },
      ],
      next: 'msg_r_1',
    },
  ]);
  expect(gateway.pages).toEqual([['app_1', { state: 'exhausted', countMax: 7, before: 'r_0' }]]);
});

test('a delivery is shown with its attempts', async () => {
  const gateway = await start([aDelivery('r_1')]);
  expect(await (await gateway.get(`${PATH}/msg_r_1`)).json()).toMatchObject({
    webhookId: 'msg_r_1',
    attempts: [
      { attempt: 1, at: AT, status: 500, class: 'http-5xx', durationMs: 12.5 },
      { attempt: 2, at: AT, class: 'timeout', durationMs: 12.5 },
    ],
    lastAttempt: { at: AT, class: 'timeout' },
  });
});

test('every kind of message has its type, and the event of a watch names the watch while its body is kept', async () => {
  const change = memberEventId(aMember(), 1);
  const held = aboutWatchEventId('watch.held', 'vip');
  const heads = new Map([[change, '{"type":"roles.changed","watchId":"vip","account":"0x']]);
  const readBodyHead = async (requestId: string) => heads.get(requestId) ?? '';
  const typeOf = async (requestId: string) => {
    const gateway = await start([aDelivery(requestId)], { readBodyHead });
    const answer = await gateway.get(`${PATH}/msg_${requestId}`);
    const { type, watchId, requestId: shown } = (await answer.json()) as Record<string, unknown>;
    return { type, watchId, shown };
  };
  const { ids } = await startGateway();
  const check = ids.makeId(ids.makeSeed(), NOW_MS, 'bulk', 'app_1');
  const batch = ids.makeId(ids.makeSeed(), NOW_MS, 'batch', 'app_1');
  expect(await typeOf(check)).toEqual({ type: 'check.completed', watchId: undefined, shown: check });
  expect(await typeOf(batch)).toEqual({ type: 'batch.completed', watchId: undefined, shown: batch });
  expect(await typeOf(change)).toEqual({ type: 'roles.changed', watchId: 'vip', shown: undefined });
  expect(await typeOf(held)).toEqual({ type: 'watch.held', watchId: undefined, shown: undefined });
  for (const type of ['watch.stalled', 'watch.recovered'] as const)
    expect(await typeOf(aboutWatchEventId(type, 'vip'))).toMatchObject({ type });
  expect(await typeOf('quota_0a')).toMatchObject({ type: 'quota.threshold' });
  expect(await typeOf('test_0a')).toMatchObject({ type: 'test' });
});

test.each(['msg_r_2', 'msg_r_3', 'r_1', 'msg_', 'msg_a%20b', '%ff'])(
  '%s, of another app or of none, is 404 and is not resent',
  async (webhookId) => {
    const gateway = await start([aDelivery('r_1'), aDelivery('r_2', { clientId: 'app_2' })]);
    const answers = [
      await gateway.get(`${PATH}/${webhookId}`),
      await gateway.send('POST', `${PATH}/${webhookId}/resend`),
    ];
    for (const answer of answers)
      expect([answer.status, (await problemOf(answer))['code']]).toEqual([404, 'delivery-not-found']);
    expect(gateway.resent).toEqual([]);
  },
);

test.each(['state=failed', 'limit=0', 'limit=201', 'after=r_1'])('the query %s is refused', async (query) => {
  const answer = await (await start([])).get(`${PATH}?${query}`);
  const { code, errors } = await problemOf(answer);
  expect([answer.status, code, errors]).toEqual([
    422,
    'validation-failed',
    [expect.objectContaining({ pointer: '' })],
  ]);
});

test('a resend is the next of its delivery, is recorded under the key, and has no body', async () => {
  const gateway = await start([aDelivery('r_1', { resendCount: 2 })]);
  const answer = await gateway.send('POST', `${PATH}/msg_r_1/resend`);
  expect([answer.status, await answer.text()]).toEqual([202, '']);
  expect(gateway.resent).toEqual([['r_1', 3]]);
  expect(gateway.audited).toEqual(['app_1 key_1 webhook-resent r_1']);
});

test('a pending delivery is not resent', async () => {
  const gateway = await start([aDelivery('r_1', { state: 'pending' })]);
  const answer = await gateway.send('POST', `${PATH}/msg_r_1/resend`);
  expect([answer.status, (await problemOf(answer))['code']]).toEqual([409, 'delivery-pending']);
  expect(gateway.resent).toEqual([]);
});

test('a delivery whose body is no longer kept is 404', async () => {
  const resend = () => Promise.reject(new ServiceError('not-found', 'expired'));
  const gateway = await start([aDelivery('r_1')], { resends: { resend } });
  expect((await gateway.send('POST', `${PATH}/msg_r_1/resend`)).status).toBe(404);
});

test('all that failed since an instant are sent, in turn by account, and counted', async () => {
  const sent: unknown[] = [];
  const gateway = await start([], {
    bulkResends: {
      take: async (clientId) => void sent.push(clientId),
      takeOne: async () => undefined,
      async send({ accountId, clientId }, period) {
        sent.push([accountId, clientId, period]);
        return { count: 2 };
      },
    },
  });
  const since = '2026-11-20T10:00:00+02:00';
  const answer = await gateway.send('POST', `${PATH}/resend-failed`, { since });
  expect([answer.status, await answer.json()]).toEqual([202, { count: 2 }]);
  expect(sent).toEqual(['app_1', ['account_1', 'app_1', { sinceMs: Date.parse(since) }]]);
  expect(gateway.audited).toEqual([`app_1 key_1 webhooks-resent 2 since ${since}`]);
});

test.each([
  ['{}', '/since required'],
  ['{"since":"yesterday"}', '/since malformed'],
  ['{"since":"2026-11-20T10:00:00Z","until":1}', '/until unknown-member'],
  ['[]', ' malformed'],
])('the body %s is refused, by pointer', async (body, expected) => {
  const answer = await (await start([])).send('POST', `${PATH}/resend-failed`, body);
  const { errors } = (await problemOf(answer)) as { errors: { pointer: string; code: string }[] };
  expect([answer.status, errors.map(({ pointer, code }) => `${pointer} ${code}`)]).toEqual([422, [expected]]);
});

test('a used-up budget of resends is 429 with the time to wait, and nothing is sent', async () => {
  const spent = () =>
    Promise.reject(new ServiceError('rate-limited', 'at most so many', { retryAfterMs: 60_000 }));
  const gateway = await start([aDelivery('r_1')], {
    bulkResends: { take: spent, takeOne: spent, send: async () => ({ count: 0 }) },
  });
  const answers = [
    await gateway.send('POST', `${PATH}/msg_r_1/resend`),
    await gateway.send('POST', `${PATH}/resend-failed`, { since: AT }),
  ];
  for (const answer of answers) {
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '60']);
    expect(await problemOf(answer)).toMatchObject({ 'violated-policies': ['resends'] });
  }
  expect(gateway.resent).toEqual([]);
});
