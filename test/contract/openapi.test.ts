import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceError } from '#shared/errors.ts';
import type { AUTHZEN_OPERATIONS } from '../../services/gateway/authzen/operations.ts';
import type { BATCH_OPERATIONS } from '../../services/gateway/batches/operations.ts';
import type { DELIVERY_OPERATIONS } from '../../services/gateway/deliveries/operations.ts';
import { CHECK_EXAMPLES, RESULT_EXAMPLE, TEST_EVENT_EXAMPLE } from '../../services/gateway/docs/examples.ts';
import { makeOpenApi } from '../../services/gateway/docs/openapi.ts';
import { OPERATIONS } from '../../services/gateway/operations.ts';
import type { RULE_SET_OPERATIONS } from '../../services/gateway/rule-sets/operations.ts';
import type { WATCH_OPERATIONS } from '../../services/gateway/watches/operations.ts';
import { aCheckResult } from '../support/builders/a-check-result.ts';
import { aSignIn, SIGNER } from '../support/builders/a-sign-in.ts';
import { A_CHECK, anAdmission, aResult, type FakeGateway, NOW_MS } from '../support/fakes/fake-gateway.ts';
import { fakeGateways } from '../support/fakes/fake-gateways.ts';
import {
  type Ask,
  document,
  documentedPath,
  expectDocumented,
  type Json,
  type OperationName,
  testProblems,
  validatorOf,
} from '../support/judges/documented-answers.ts';

// The OpenAPI document is a promise: every documented answer is produced here and validated against
// it.

const start = fakeGateways();

const POLL = { ...A_CHECK, async: true };
const away = (code: 'store-unavailable' | 'broker-unavailable' | 'overloaded') => () =>
  Promise.reject(new ServiceError(code, 'away'));
const rule = (changes: Json) => ({ ...POLL, rules: [{ ...POLL.rules[0], ...changes }] });
const badKeys = async (gateway: FakeGateway, send: () => Promise<Response>): Promise<Response> => {
  await Promise.all(
    Array.from({ length: 20 }, () => gateway.get('/access-control/chains', { 'x-api-key': 'x' })),
  );
  return send();
};
const failing = (gateway: FakeGateway) => async (message: { requestId: string }) =>
  gateway.complete(
    message.requestId,
    aCheckResult({
      requestId: message.requestId,
      status: 'failed',
      errors: [{ ruleIndex: 0, roleId: 'holder', code: 'rpc-unavailable' }],
    }),
  );

/** How to produce the problems that only `POST /access-control/check-roles` has. */
const CHECK_PROBLEMS: Record<string, () => Promise<Response>> = {
  'malformed-json': async () => (await start()).post('{'),
  'idempotency-key-in-use': async () => {
    const claim = { atMs: NOW_MS, seed: '1.00', requestId: 'x', month: '2026-11' };
    const gateway = await start({
      admit: async (request) => anAdmission(request, { outcome: 'published', claim }),
    });
    return gateway.post(A_CHECK, { 'idempotency-key': 'k' });
  },
  'idempotency-key-reused': async () => {
    const claim = { atMs: NOW_MS, seed: '1.00', requestId: 'x', month: '2026-11' };
    const gateway = await start({
      admit: async (request) => anAdmission(request, { outcome: 'key-reused', claim }),
    });
    return gateway.post(POLL, { 'idempotency-key': 'k' });
  },
  'body-too-large': async () => (await start()).post('x'.repeat(300_000)),
  'media-type-unsupported': async () => (await start()).post(POLL, { 'content-type': 'text/plain' }),
  'validation-failed': async () => (await start()).post({}),
  'account-format-unsupported': async () => (await start()).post({ ...POLL, account: 'vitalik.eth' }),
  'rule-type-unsupported': async () => (await start()).post(rule({ type: 'ERC404' })),
  'function-unsupported': async () => {
    const contract = { contractAddress: POLL.account, function: 'x'.repeat(513) };
    return (await start()).post(rule({ type: 'CONTRACT', ...contract }));
  },
  'rule-set-unknown': async () =>
    (await start()).post({ account: POLL.account, ruleSet: 'vip', async: true }),
  'chain-unsupported': async () => (await start()).post(rule({ chainId: 2 })),
  'min-token-zero': async () => (await start()).post(rule({ minToken: '0' })),
  'proof-unavailable': async () => (await start()).post({ ...POLL, proof: true }),
  'too-many-reads': async () => {
    const one = { type: 'ERC1155', chainId: 1, contractAddress: A_CHECK.account, roleId: 'r' };
    const rules = Array.from({ length: 40 }, (_, i) => ({ ...one, tokenId: `${i * 256}-${i * 256 + 255}` }));
    return (await start()).post({ ...POLL, rules });
  },
  'sign-in-malformed': async () =>
    (await start()).post({ ...POLL, signIn: [{ message: '', signature: '0x' }] }),
  'sign-in-refused': async () => {
    const signIn = await aSignIn({ nonce: 'abcdefgh' });
    return (await start()).post({ ...POLL, account: SIGNER.address, signIn: [signIn] });
  },
  'callback-url-refused': async () => (await start()).post({ ...POLL, callbackUrl: 'https://127.1/x' }),
  'monthly-quota-exceeded': async () =>
    (await start({ admit: async (request) => anAdmission(request, { outcome: 'quota-exceeded' }) })).post(
      POLL,
    ),
  internal: async () => (await start({ publish: () => Promise.reject(new Error('a bug')) })).post(POLL),
  'evaluation-unavailable': async () => {
    const gateway: FakeGateway = await start({ publish: (message) => failing(gateway)(message) });
    return gateway.post(A_CHECK);
  },
  'dependency-unavailable': async () => (await start({ publish: away('broker-unavailable') })).post(POLL),
  overloaded: async () => (await start({ publish: away('overloaded') })).post(POLL),
  'deadline-exceeded': async () => (await start({ syncDeadlineMs: 10 })).post(A_CHECK),
};

const ageOf =
  (ageMs: number, clientId = 'app_1') =>
  (gateway: FakeGateway) =>
    `/access-control/check-roles/responses/${gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS - ageMs, 'bulk', clientId)}`;

/** Operations of other files, and the documents that are the same for everybody: a new operation
 * does not compile until it is asked. */
type AskedElsewhere =
  | keyof typeof BATCH_OPERATIONS
  | keyof typeof RULE_SET_OPERATIONS
  | keyof typeof WATCH_OPERATIONS
  | keyof typeof DELIVERY_OPERATIONS
  | keyof typeof AUTHZEN_OPERATIONS
  | 'readKeys';
const ASKS = {
  checkRoles: (gateway, headers) => gateway.post(POLL, headers),
  issueNonce: (gateway, headers) => gateway.send('POST', '/access-control/nonces', {}, headers),
  listChains: (gateway, headers) => gateway.get('/access-control/chains', headers),
  readResponse: (gateway, headers) => gateway.get(ageOf(0)(gateway), headers),
} as const satisfies Record<Exclude<OperationName, AskedElsewhere>, Ask>;
const RESPONSE_PROBLEMS: Record<string, () => Promise<Response>> = {
  'request-not-found': async () => {
    const gateway = await start();
    return gateway.get(ageOf(0, 'app_2')(gateway));
  },
  'route-not-found': async () => (await start()).get('/access-control/check-roles/responses/a/b'),
  'request-expired': async () => {
    const gateway = await start();
    return gateway.get(ageOf(73 * 3_600_000)(gateway));
  },
};

const nonce = async (body: unknown, headers?: Record<string, string>) =>
  (await start()).send('POST', '/access-control/nonces', body, headers);
const NONCE_PROBLEMS: Record<string, () => Promise<Response>> = {
  'malformed-json': () => nonce('{'),
  'body-too-large': () => nonce('x'.repeat(300_000)),
  'media-type-unsupported': () => nonce({}, { 'content-type': 'text/plain' }),
  'validation-failed': () => nonce({ for: 'me' }),
};

testProblems(start, ASKS, {
  checkRoles: CHECK_PROBLEMS,
  issueNonce: NONCE_PROBLEMS,
  listChains: {},
  readResponse: RESPONSE_PROBLEMS,
});

describe('the OpenAPI document', () => {
  it('is version 3.1, is served as generated, and has no dangling reference', async () => {
    const gateway = await start();
    const served = await gateway.get('/openapi.json', { 'x-api-key': '' });
    expect(served.headers.get('content-type')).toBe('application/json');
    const text = await served.text();
    expect(JSON.parse(text)).toEqual(document);
    expect(JSON.parse(text)).toMatchObject({ openapi: '3.1.0' });
    for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g))
      expect(document.components.schemas).toHaveProperty(name ?? '');
  });

  it('describes every webhook as signed, without an API key, with a body and every answer', () => {
    const webhooks = Object.entries(makeOpenApi('').webhooks ?? {});
    expect(webhooks.map(([name]) => name).sort()).toEqual([
      'batchCompleted',
      'checkCompleted',
      'quotaThreshold',
      'rolesChanged',
      'testEvent',
      'watchHeld',
      'watchRecovered',
      'watchStalled',
    ]);
    for (const [name, { post }] of webhooks) {
      expect(post).toMatchObject({ operationId: name, security: [], requestBody: { required: true } });
      expect(Object.keys(post?.responses ?? {}).sort()).toEqual(['2XX', '410', 'default']);
      expect(post?.parameters).toContainEqual(expect.objectContaining({ name: 'webhook-signature' }));
    }
  });

  it('has no webhook that the union of the client library lacks', () => {
    const source = readFileSync(
      join(import.meta.dirname, '../../shared/client/verify/verify-webhook.ts'),
      'utf8',
    );
    const [, union] = /type WebhookMessage =(.+?)export type/s.exec(source) ?? [];
    const webhooks = JSON.stringify(makeOpenApi('').webhooks);
    const bodies = [...webhooks.matchAll(/"schema":\{"\$ref":"[^"]+\/(\w+)"/g)].map(([, name]) => name);
    expect(bodies).toHaveLength(8);
    expect(bodies.filter((name) => !new RegExp(`\\b${name}\\b`).test(union ?? ''))).toEqual([]);
  });

  it('contains only example bodies that are accepted', async () => {
    const gateway: FakeGateway = await start({
      publish: async ({ requestId }) => gateway.complete(requestId, aResult(requestId)),
    });
    for (const { value } of Object.values(CHECK_EXAMPLES)) {
      const response = await gateway.post(value);
      expect([200, 202]).toContain(response.status);
      await expectDocumented('checkRoles', response);
    }
  });

  it('describes each rule type with its own members and no others', () => {
    const isRule = (value: Json) => validatorOf({ $ref: '#/$defs/Rule' }).safeParse(value).success;
    const native = { type: 'NATIVE', chainId: 1, roleId: 'r' };
    const contractAddress = A_CHECK.account;
    expect(document.components.schemas['Rule']).toMatchObject({
      oneOf: expect.any(Array),
      discriminator: { propertyName: 'type' },
    });
    expect(isRule(native)).toBe(true);
    expect(isRule({ ...native, contractAddress })).toBe(false);
    expect(isRule({ ...native, type: 'ERC20' })).toBe(false);
    expect(isRule({ ...native, type: 'ERC20', contractAddress })).toBe(true);
    expect(isRule({ ...native, type: 'ERC1155', contractAddress })).toBe(false);
    expect(isRule({ type: 'ALL', roleId: 'r', rules: [{ type: 'NATIVE', chainId: 1 }] })).toBe(true);
    expect(isRule({ type: 'ALL', roleId: 'r', rules: [native] })).toBe(false);
    expect(isRule({ type: 'AT_LEAST', roleId: 'r', rules: [{ type: 'NATIVE', chainId: 1 }] })).toBe(false);
  });

  it('gives types to the empty roles and errors of a pending answer', () => {
    expect(document.components.schemas['Pending']).toMatchObject({
      properties: {
        roles: { items: { $ref: '#/components/schemas/RoleVerdict' } },
        errors: { items: { $ref: '#/components/schemas/RuleFault' } },
      },
    });
  });

  it('has an example of a result that matches its schema', () => {
    expect(validatorOf({ $ref: '#/$defs/CheckResult' }).safeParse(RESULT_EXAMPLE).error).toBeUndefined();
  });

  it('has an example of a test event that matches its schema', () => {
    expect(validatorOf({ $ref: '#/$defs/TestEvent' }).safeParse(TEST_EVENT_EXAMPLE).error).toBeUndefined();
  });

  it('describes successful answers', async () => {
    const gateway = await start();
    await expectDocumented('listChains', await gateway.get('/access-control/chains'));
    const path = ageOf(5)(gateway);
    const pending = await gateway.get(path, { prefer: 'wait=0' });
    expect(pending.status).toBe(202);
    await expectDocumented('readResponse', pending);
    const requestId = path.split('/').at(-1) ?? '';
    gateway.complete(requestId, aResult(requestId));
    await expectDocumented('readResponse', await gateway.get(path, { prefer: 'wait=1' }));
  });

  it('describes the 429 without rate limits for failed keys from one address', async () => {
    const gateway = await start();
    const response = await badKeys(gateway, () => gateway.post(POLL, { 'x-api-key': 'x' }));
    expect(await expectDocumented('checkRoles', response)).toMatchObject({
      status: 429,
      code: 'rate-limited',
    });
    expect(response.headers.get('ratelimit')).toBeNull();
  });

  it('is rendered at /docs/reference, with a strict content policy and no external resources', async () => {
    const gateway = await start();
    const response = await gateway.get('/docs/reference', { 'x-api-key': '' });
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    const html = await response.text();
    expect(html).not.toMatch(/<(script|link|img|iframe)[^>]+(src|href)="(https?:)?\/\//);
    expect(html).not.toMatch(/<script(?![^>]*src=)/);
    for (const name of Object.keys(OPERATIONS) as OperationName[])
      expect(html).toContain(documentedPath(name));
  });
});
