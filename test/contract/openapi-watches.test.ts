import { ServiceError } from '#shared/errors.ts';
import {
  MEMBER_CHANGES_EXAMPLE,
  WATCH_EXAMPLE,
  WATCH_EXAMPLES,
} from '../../services/gateway/docs/examples.ts';
import type { WATCH_OPERATIONS } from '../../services/gateway/watches/operations.ts';
import { aMember, aWatch } from '../support/builders/a-watch.ts';
import { API_KEY, type FakeGateway, type FakeOptions } from '../support/fakes/fake-gateway.ts';
import { fakeGateways } from '../support/fakes/fake-gateways.ts';
import {
  type Ask,
  expectDocumented,
  testProblems,
  validatorOf,
} from '../support/judges/documented-answers.ts';

// The OpenAPI document of watches: every documented answer is produced here and validated against
// it.

const start = fakeGateways();
const PATH = '/access-control/watches';
const WATCH = `${PATH}/w`;
const MEMBERS = `${WATCH}/members`;
const SETTINGS = Object.values(WATCH_EXAMPLES)[0]?.value;
const ACCOUNT = '0x52908400098527886e0f7030069857d2e4169ee7';

type Name = keyof typeof WATCH_OPERATIONS;
type Writes = NonNullable<NonNullable<FakeOptions['watches']>['watchWrites']>;
type Problems = Readonly<Record<string, () => Promise<Response>>>;

const write = async () => aWatch();
const WRITES: Writes = {
  put: async () => ({ watch: aWatch(), isNew: true }),
  remove: async () => undefined,
  ...{ pause: write, resume: write, check: write, release: write },
  present: async () => WATCH_EXAMPLE,
  presentMany: async (watches: readonly unknown[]) => watches.map(() => WATCH_EXAMPLE),
} as unknown as Writes;

/** A gateway with one watch of one member. */
const startWith = (writes: Partial<Writes> = {}, more: FakeOptions['watches'] = {}, options = {}) =>
  start({
    ...options,
    watches: {
      watches: { read: async () => aWatch(), list: async () => ({ watches: [aWatch()], next: undefined }) },
      watchMembers: {
        readMany: async () => [aMember()],
        page: async () => ({ members: [aMember()], next: undefined }),
        count: async () => 1,
      },
      watchWrites: { ...WRITES, ...writes },
      ...more,
    },
  });
const failing = (code: ConstructorParameters<typeof ServiceError>[0]) => () =>
  Promise.reject(new ServiceError(code, 'as the store says'));

const put = (gateway: FakeGateway, body: unknown = SETTINGS, headers = {}) =>
  gateway.send('PUT', WATCH, body, headers);
const change = (gateway: FakeGateway, body: unknown = { add: [ACCOUNT] }, headers = {}) =>
  gateway.send('POST', MEMBERS, body, headers);
const act =
  (action: string): Ask =>
  (gateway, headers) =>
    gateway.send('POST', `${WATCH}/${action}`, undefined, headers);

/** A successful request of each operation. */
const ASKS: Readonly<Record<Name, Ask>> = {
  listWatches: (gateway, headers) => gateway.get(PATH, headers),
  readWatch: (gateway, headers) => gateway.get(WATCH, headers),
  putWatch: (gateway, headers) => put(gateway, undefined, headers),
  deleteWatch: (gateway, headers) => gateway.send('DELETE', WATCH, undefined, headers),
  pauseWatch: act('pause'),
  resumeWatch: act('resume'),
  checkWatch: act('check'),
  releaseWatch: act('release'),
  listMembers: (gateway, headers) => gateway.get(MEMBERS, headers),
  changeMembers: (gateway, headers) => change(gateway, undefined, headers),
  readMember: (gateway, headers) => gateway.get(`${MEMBERS}/a`, headers),
};

const ask = async (make: Ask, ...options: Parameters<typeof startWith>) => make(await startWith(...options));
const without = async (make: Ask) => make(await start());
const noRoute = (method: string) => () => ask((gateway) => gateway.send(method, `${WATCH}/a/b/c`, undefined));

const ofAction = (name: 'pauseWatch' | 'resumeWatch' | 'checkWatch' | 'releaseWatch'): Problems => {
  const action = name.replace('Watch', '');
  return {
    'route-not-found': noRoute('POST'),
    'watch-not-found': () => ask(ASKS[name], { [action]: failing('watch-not-found') }),
    'version-conflict': () => ask(ASKS[name], { [action]: failing('version-conflict') }),
    'validation-failed': () => ask((gateway) => ASKS[name](gateway, { 'if-match': '7' })),
  };
};

/** How to produce the problems that only one operation has. */
const PROBLEMS: Readonly<Record<Name, Problems>> = {
  listWatches: { 'validation-failed': () => ask((gateway) => gateway.get(`${PATH}?limit=0`)) },
  readWatch: { 'route-not-found': noRoute('GET'), 'watch-not-found': () => without(ASKS.readWatch) },
  putWatch: {
    'route-not-found': noRoute('PUT'),
    'malformed-json': () => ask((gateway) => put(gateway, '{')),
    'body-too-large': () => ask((gateway) => put(gateway, 'x'.repeat(300_000))),
    'media-type-unsupported': () =>
      ask((gateway) => put(gateway, undefined, { 'content-type': 'text/plain' })),
    'validation-failed': () => ask((gateway) => put(gateway, {})),
    'callback-url-refused': () =>
      ask((gateway) => put(gateway, { ...SETTINGS, callbackUrl: 'https://10.0.0.1/' })),
    'rule-set-unknown': () => ask(ASKS.putWatch, { put: failing('rule-set-unknown') }),
    'limit-reached': () => ask(ASKS.putWatch, { put: failing('limit-reached') }),
    'version-conflict': () => ask(ASKS.putWatch, { put: failing('version-conflict') }),
  },
  deleteWatch: {
    'route-not-found': noRoute('DELETE'),
    'version-conflict': () => ask(ASKS.deleteWatch, { remove: failing('version-conflict') }),
    'validation-failed': () => ask((gateway) => ASKS.deleteWatch(gateway, { 'if-match': '7' })),
  },
  pauseWatch: ofAction('pauseWatch'),
  resumeWatch: ofAction('resumeWatch'),
  checkWatch: ofAction('checkWatch'),
  releaseWatch: ofAction('releaseWatch'),
  listMembers: {
    'route-not-found': noRoute('GET'),
    'validation-failed': () => ask((gateway) => gateway.get(`${MEMBERS}?limit=0`)),
    'watch-not-found': () => without(ASKS.listMembers),
  },
  changeMembers: {
    'route-not-found': noRoute('POST'),
    'watch-not-found': () => without(ASKS.changeMembers),
    'malformed-json': () => ask((gateway) => change(gateway, '{')),
    'body-too-large': () => ask((gateway) => change(gateway, { remove: ['x'.repeat(2_200_000)] })),
    'media-type-unsupported': () =>
      ask((gateway) => change(gateway, undefined, { 'content-type': 'text/plain' })),
    'validation-failed': () => ask((gateway) => change(gateway, { add: [{}] })),
    'account-format-unsupported': () => ask((gateway) => change(gateway, { add: ['vitalik.eth'] })),
    'too-many-entries': () =>
      ask((gateway) => change(gateway, { remove: Array.from({ length: 10_001 }, (_, i) => `r${i}`) })),
    'limit-reached': () => ask(ASKS.changeMembers, {}, { changeMembers: failing('limit-reached') }),
    'body-timeout': () =>
      ask(
        (gateway) => {
          const body = new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from('{')) });
          const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
          return fetch(gateway.url + MEMBERS, {
            method: 'POST',
            headers,
            body,
            duplex: 'half',
          } as RequestInit);
        },
        {},
        {},
        { bodyBounds: { bytesMax: 1_000_000, timeoutMs: 50 } },
      ),
  },
  readMember: {
    'route-not-found': noRoute('GET'),
    'watch-not-found': () => without(ASKS.readMember),
    'member-not-found': () =>
      ask(
        ASKS.readMember,
        {},
        {
          watchMembers: {
            readMany: async () => [undefined],
            page: async () => ({ members: [], next: undefined }),
            count: async () => 0,
          },
        },
      ),
  },
};

testProblems(start, ASKS, PROBLEMS);

test.each(Object.keys(ASKS) as Name[])('the document describes the answer of %s', async (name) => {
  const gateway = await startWith();
  const response = await ASKS[name](gateway);
  expect(response.ok).toBe(true);
  await expectDocumented(name, response);
});

test('the examples of watches and of changes of members are accepted', async () => {
  const gateway = await startWith({ put: async () => ({ watch: aWatch(), isNew: false }) });
  for (const { value } of Object.values(WATCH_EXAMPLES))
    await expectDocumented('putWatch', await put(gateway, value));
  for (const { value } of Object.values(MEMBER_CHANGES_EXAMPLE))
    expect((await change(gateway, value)).status).toBe(200);
  expect(validatorOf({ $ref: '#/$defs/Watch' }).safeParse(WATCH_EXAMPLE).error).toBeUndefined();
});
