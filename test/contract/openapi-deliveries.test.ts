import type { DeliveryView } from '#shared/stores/webhooks/deliveries.ts';
import { type FakeGateway, type FakeOptions, NOW_MS } from '../support/fakes/fake-gateway.ts';
import { fakeGateways } from '../support/fakes/fake-gateways.ts';
import {
  type Ask,
  expectDocumented,
  type OperationName,
  testProblems,
} from '../support/judges/documented-answers.ts';

// The OpenAPI document of webhook deliveries: every documented answer is produced here and validated
// against it.

const PATH = '/access-control/deliveries';
const AT = new Date(NOW_MS).toISOString();
const aDelivery = (requestId: string, state: DeliveryView['state']): DeliveryView => ({
  requestId,
  clientId: 'app_1',
  callbackUrl: 'https://hooks.example/x',
  state,
  resendCount: 0,
  acceptedAt: AT,
  retainUntil: AT,
  nextAttemptAt: undefined,
  attempts: [
    { attempt: 1, resendCount: 0, at: AT, status: 410, durationMs: 1, class: 'gone' },
    { attempt: 1, resendCount: 1, at: AT, durationMs: 5_000.5, class: 'connect-failed' },
  ],
});
const VIEWS = [aDelivery('r_1', 'stopped'), aDelivery('r_2', 'pending')];

const startGateway = fakeGateways();
const start = (options: FakeOptions = {}) =>
  startGateway({
    deliveries: {
      deliveries: {
        page: async () => ({ deliveries: VIEWS, next: 'r_2' }),
        read: async (id) => VIEWS.find(({ requestId }) => requestId === id),
      },
    },
    ...options,
  });

type Name = Extract<OperationName, `${string}Deliver${string}` | 'resendFailed'>;

const resendFailed = (gateway: FakeGateway, body: unknown = { since: AT }, headers = {}) =>
  gateway.send('POST', `${PATH}/resend-failed`, body, headers);

/** A successful request of each operation. */
const ASKS: Readonly<Record<Name, Ask>> = {
  listDeliveries: (gateway, headers) => gateway.get(PATH, headers),
  readDelivery: (gateway, headers) => gateway.get(`${PATH}/msg_r_1`, headers),
  resendDelivery: (gateway, headers) => gateway.send('POST', `${PATH}/msg_r_1/resend`, undefined, headers),
  resendFailed: (gateway, headers) => resendFailed(gateway, undefined, headers),
};

const ask = async (make: Ask) => make(await start());

/** How to produce the problems that only one operation has. */
const PROBLEMS: Readonly<Record<Name, Readonly<Record<string, () => Promise<Response>>>>> = {
  listDeliveries: { 'validation-failed': () => ask((gateway) => gateway.get(`${PATH}?state=lost`)) },
  readDelivery: {
    'delivery-not-found': () => ask((gateway) => gateway.get(`${PATH}/msg_r_3`)),
    'route-not-found': () => ask((gateway) => gateway.get(`${PATH}/msg_r_1/x`)),
  },
  resendDelivery: {
    'delivery-not-found': () => ask((gateway) => gateway.send('POST', `${PATH}/msg_r_3/resend`)),
    'delivery-pending': () => ask((gateway) => gateway.send('POST', `${PATH}/msg_r_2/resend`)),
    'route-not-found': () => ask((gateway) => gateway.send('POST', `${PATH}/msg_r_1/resend/x`)),
  },
  resendFailed: {
    'malformed-json': () => ask((gateway) => resendFailed(gateway, '{')),
    'body-too-large': () => ask((gateway) => resendFailed(gateway, 'x'.repeat(300_000))),
    'media-type-unsupported': () =>
      ask((gateway) => resendFailed(gateway, undefined, { 'content-type': 'text/plain' })),
    'validation-failed': () => ask((gateway) => resendFailed(gateway, {})),
  },
};

testProblems(start, ASKS, PROBLEMS);

test('the document describes successful answers', async () => {
  const gateway = await start();
  for (const name of Object.keys(ASKS) as Name[]) {
    const answer = await ASKS[name](gateway);
    expect(answer.ok).toBe(true);
    await expectDocumented(name, answer);
  }
});
