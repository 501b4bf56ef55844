/** @jest-environment ./test/support/jest/shared-system-environment.ts */
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';

// AuthZEN and proofs by ES256, against a running system: decisions on real tokens, what is charged
// for them, and a proof that a JOSE library verifies with the keys that the gateway serves.

const system = sharedSystem();
const url = () => system.ready.gateways[0] ?? '';
const send = (method: string, path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${url()}${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${system.ready.app.apiKey}`,
      ...headers,
    },
    body: JSON.stringify(body),
  });
/** Checks left in the month after a request. */
const leftAfter = (response: Response): number =>
  Number(/"per-month";r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]);

beforeAll(async () => {
  const { erc20, erc721 } = demoRules(system.chain);
  // No token: nothing answers at its address.
  const broken = erc20({ roleId: 'broken', contractAddress: `0x${'11'.repeat(20)}` });
  const rules = [erc20({ roleId: 'gold', minToken: '1500.5' }), erc721({ roleId: 'founder' }), broken];
  await system.client.mustSend('PUT', '/access-control/rule-sets/authzen', { rules });
});

const ask = (subject: string, roleId: string) => ({
  subject: { type: 'wallet', id: subject },
  action: { name: 'enter' },
  resource: { type: 'role', id: `authzen/${roleId}` },
});

test('an evaluation is decided on the chain, and its check can be polled', async () => {
  const { holder, stranger, chainId } = system.chain;
  for (const [subject, decision] of [
    [holder, true],
    [stranger, false],
  ] as const) {
    const response = await send('POST', '/access/v1/evaluation', ask(subject, 'gold'), {
      'x-request-id': 'a-1',
    });
    expect([response.status, response.headers.get('x-request-id')]).toEqual([200, 'a-1']);
    const { context, ...answer } = (await response.json()) as {
      readonly decision: boolean;
      readonly context: { readonly requestId: string; readonly blocks: object };
    };
    expect(answer).toEqual({ decision });
    expect(context).toMatchObject({ outcome: decision ? 'granted' : 'denied' });
    expect(context.blocks).toHaveProperty([String(chainId), 'hash']);
    const { body } = await system.client.poll(context.requestId);
    expect(body.blocks).toEqual(context.blocks);
  }
});

test('a role that cannot be read is 503 without Retry-After, and charged', async () => {
  const before = await send('POST', '/access/v1/evaluation', ask(system.chain.holder, 'gold'));
  const response = await send('POST', '/access/v1/evaluation', ask(system.chain.holder, 'broken'));
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, null]);
  expect(await response.json()).toMatchObject({
    code: 'evaluation-unavailable',
    errors: [{ roleId: 'broken', code: 'contract-not-found' }],
  });
  expect(leftAfter(response)).toBe(leftAfter(before) - 1);
});

test('a list is decided in its order, and costs one check for each wallet', async () => {
  const { holder, stranger } = system.chain;
  const before = await send('POST', '/access/v1/evaluation', ask(holder, 'gold'));
  const evaluations = [
    ask(holder, 'gold'),
    ask(holder, 'founder'),
    ask(stranger, 'gold'),
    ask(holder, 'broken'),
    { ...ask(holder, 'gold'), resource: { type: 'role', id: 'nobody/gold' } },
  ];
  const response = await send('POST', '/access/v1/evaluations', { evaluations });
  expect(response.status).toBe(200);
  const { evaluations: answers } = (await response.json()) as {
    readonly evaluations: readonly { readonly decision: boolean; readonly context: object }[];
  };
  expect(answers.map(({ decision }) => decision)).toEqual([true, true, false, false, false]);
  expect(answers[3]?.context).toMatchObject({ outcome: 'undetermined', error: { status: 503 } });
  expect(answers[4]?.context).toMatchObject({ outcome: 'undetermined', error: { status: 400 } });
  expect(leftAfter(response)).toBe(leftAfter(before) - 2);
});

test('a short circuit gives back the checks that did not run', async () => {
  const { holder, stranger } = system.chain;
  const before = await send('POST', '/access/v1/evaluation', ask(holder, 'gold'));
  const body = {
    evaluations: [ask(stranger, 'gold'), ask(holder, 'gold')],
    options: { evaluations_semantic: 'deny_on_first_deny' },
  };
  const response = await send('POST', '/access/v1/evaluations', body);
  expect(await response.json()).toMatchObject({ evaluations: [{ decision: false }] });
  expect(leftAfter(response)).toBe(leftAfter(before) - 1);
  const after = await send('POST', '/access/v1/evaluation', ask(holder, 'gold'));
  expect(leftAfter(after)).toBe(leftAfter(before) - 2);
});

test.each(['EdDSA', 'ES256'])(
  'a proof by %s is verified by the keys that the gateway serves',
  async (alg) => {
    const { clientId } = system.ready.app;
    const { body } = await system.client.check({
      account: system.chain.holder,
      ruleSet: 'authzen',
      proof: true,
      proofAlg: alg,
    });
    const { proof } = body as { readonly proof?: string };
    const keys = createRemoteJWKSet(new URL(`${url()}/.well-known/jwks.json`));
    const { payload, protectedHeader } = await jwtVerify(proof ?? '', keys, {
      algorithms: [alg],
      typ: 'rolecall-verdict+jwt',
      audience: clientId,
      issuer: `urn:rolecall:${clientId}`,
    });
    expect(protectedHeader.alg).toBe(alg);
    expect(payload).toMatchObject({ granted: ['gold', 'founder'], undetermined: ['broken'] });
    expect(payload).not.toHaveProperty('scope');
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(300);
  },
);
