import { gzipSync } from 'node:zlib';
import { appLimitsOf } from '#shared/contracts/apps/tiers.ts';
import { batchWebhookOf } from '#shared/contracts/batches/batch-status.ts';
import { ServiceError } from '#shared/errors.ts';
import {
  BATCH_EXAMPLES,
  BATCH_LINES_EXAMPLE,
  BATCH_STATUS_EXAMPLE,
} from '../../services/gateway/docs/examples.ts';
import { aMember, aWatch } from '../support/builders/a-watch.ts';
import {
  API_KEY,
  anAdmission,
  anAppWithKey,
  type FakeGateway,
  type FakeOptions,
  NOW_MS,
} from '../support/fakes/fake-gateway.ts';
import { fakeGateways } from '../support/fakes/fake-gateways.ts';
import {
  type Ask,
  expectDocumented,
  type OperationName,
  testProblems,
  validatorOf,
} from '../support/judges/documented-answers.ts';

// The OpenAPI document of batches: every documented answer is produced here and validated against
// it.

const start = fakeGateways();
const PATH = '/access-control/check-roles/batch';
const RULE = { type: 'NATIVE', chainId: 1, roleId: 'holder' };
const ACCOUNT = '0x52908400098527886e0f7030069857d2e4169ee7';
const BATCH = { entries: [ACCOUNT], rules: [RULE] };

type Name = Extract<OperationName, `${string}Batch${string}`>;

const aBatchId = (gateway: FakeGateway, ageMs = 0): string =>
  gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS - ageMs, 'batch', 'app_1');
const read =
  (rest: string, ageMs = 0): Ask =>
  (gateway, headers) => {
    const requestId = aBatchId(gateway, ageMs);
    gateway.storeBatch({ ...BATCH_STATUS_EXAMPLE, roles: [], requestId }, [
      { firstIndex: 0, lineCount: 3, gzip: gzipSync(BATCH_LINES_EXAMPLE.repeat(3)) },
    ]);
    return gateway.get(`${PATH}/${requestId}${rest}`, headers);
  };

/** A successful request of each operation. */
const ASKS: Readonly<Record<Name, Ask>> = {
  startBatch: (gateway, headers) => gateway.postBatch(BATCH, headers),
  readBatch: read(''),
  readBatchResults: read('/results'),
};

const ask = async (make: Ask, options?: FakeOptions) => make(await start(options));
const post = (changes: object, options?: FakeOptions) =>
  ask((gateway) => gateway.postBatch({ ...BATCH, ...changes }), options);
const rule = (changes: object) => post({ rules: [{ ...RULE, ...changes }] });
const accounts = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '0')}`);
const claim = { atMs: NOW_MS, seed: '1.00', requestId: 'x', month: '2026-11' };
const enterprise = appLimitsOf({ tier: 'enterprise' });

const gone = (rest: string) => ({
  'request-not-found': () => ask((gateway) => gateway.get(`${PATH}/x${rest}`)),
  'route-not-found': () => ask((gateway) => gateway.get(`${PATH}/x${rest}/y/z`)),
  'request-expired': () => ask(read(rest, 73 * 3_600_000)),
});

/** How to produce the problems that only one operation has. */
const PROBLEMS: Readonly<Record<Name, Readonly<Record<string, () => Promise<Response>>>>> = {
  startBatch: {
    'malformed-json': () => ask((gateway) => gateway.postBatch('{')),
    'body-timeout': () =>
      ask(
        (gateway) => {
          const body = new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from('{')) });
          const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
          return fetch(gateway.url + PATH, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
        },
        { bodyBounds: { bytesMax: 1_000_000, timeoutMs: 50 } },
      ),
    'idempotency-key-in-use': () =>
      ask((gateway) => gateway.postBatch(BATCH, { 'idempotency-key': 'k' }), {
        admit: async (request) => anAdmission(request, request.check ? { outcome: 'claimed', claim } : {}),
      }),
    'idempotency-key-reused': () =>
      ask((gateway) => gateway.postBatch(BATCH, { 'idempotency-key': 'k' }), {
        admit: async (request) => anAdmission(request, request.check ? { outcome: 'key-reused', claim } : {}),
      }),
    'limit-reached': () => post({}, { unfinished: 2 }),
    'body-too-large': () => post({ ref: 'x'.repeat(2_200_000) }),
    'media-type-unsupported': () =>
      ask((gateway) => gateway.postBatch(BATCH, { 'content-type': 'text/plain' })),
    'validation-failed': () => post({ entries: [] }),
    'too-many-entries': () => post({ entries: accounts(1_001) }),
    async 'batch-too-large'() {
      const rules = Array.from({ length: 200 }, (_, index) => ({ ...RULE, roleId: `r${index}` }));
      return post({ rules, entries: accounts(5_001) }, { app: anAppWithKey({ limits: enterprise }) });
    },
    'account-format-unsupported': () => post({ entries: ['vitalik.eth'] }),
    'rule-type-unsupported': () => rule({ type: 'ERC404' }),
    'function-unsupported': () =>
      rule({ type: 'CONTRACT', contractAddress: ACCOUNT, function: 'x'.repeat(513) }),
    'rule-set-unknown': () => ask((gateway) => gateway.postBatch({ entries: [ACCOUNT], ruleSet: 'vip' })),
    'watch-unknown': () => ask((gateway) => gateway.postBatch({ watch: 'members', rules: [RULE] })),
    'chain-unsupported': () => rule({ chainId: 2 }),
    'min-token-zero': () => rule({ minToken: '0' }),
    'too-many-reads': () => rule({ type: 'ERC1155', contractAddress: ACCOUNT, tokenId: '0-200' }),
    'proof-unavailable': () => post({ proof: true }),
    'callback-url-refused': () => post({ callbackUrl: 'https://127.1/x' }),
    'monthly-quota-exceeded': () =>
      post(
        {},
        {
          admit: async (request) => anAdmission(request, request.check ? { outcome: 'quota-exceeded' } : {}),
        },
      ),
    'dependency-unavailable': () =>
      post({}, { publishPart: () => Promise.reject(new ServiceError('broker-unavailable', 'away')) }),
  },
  readBatch: gone(''),
  readBatchResults: { ...gone('/results'), 'validation-failed': () => ask(read('/results?limit=0')) },
};

testProblems(start, ASKS, PROBLEMS);

test('the document describes successful answers, and its examples are accepted', async () => {
  const gateway = await start({
    watches: {
      watches: { read: async () => aWatch(), list: async () => ({ watches: [], next: undefined }) },
      watchMembers: {
        readMany: async () => [],
        count: async () => 1,
        page: async () => ({ members: [aMember()], next: undefined }),
      },
    },
  });
  for (const { value } of Object.values(BATCH_EXAMPLES)) {
    const response = await gateway.postBatch(value);
    expect(response.status).toBe(202);
    await expectDocumented('startBatch', response);
  }
  await expectDocumented('readBatch', await ASKS.readBatch(gateway));
  const pending = aBatchId(gateway);
  gateway.storeBatch(
    { ...BATCH_STATUS_EXAMPLE, roles: [], requestId: pending, status: 'pending', done: 0 },
    [],
  );
  await expectDocumented('readBatchResults', await gateway.get(`${PATH}/${pending}/results`));
});

test('the lines of the results and the message of a completed batch are as documented', async () => {
  const response = await ask(ASKS.readBatchResults);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
  const lines = (await response.text()).split('\n').slice(0, -1);
  expect(lines).toHaveLength(3);
  for (const line of lines)
    expect(validatorOf({ $ref: '#/$defs/BatchLine' }).safeParse(JSON.parse(line)).error).toBeUndefined();
  const message = JSON.parse(
    batchWebhookOf({ ...BATCH_STATUS_EXAMPLE, roles: [...BATCH_STATUS_EXAMPLE.roles] }),
  );
  expect(validatorOf({ $ref: '#/$defs/BatchCompleted' }).safeParse(message).error).toBeUndefined();
});
