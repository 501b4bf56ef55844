import { randomUUID } from 'node:crypto';
import { VIEW_KEYS } from '#shared/redis/fence.ts';
import { type AdmitRequest, makeAdmitter, nonceKey } from '#shared/stores/checks/admit.ts';
import { aSignIn, SIGNER } from '../../support/builders/a-sign-in.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { type TestApp, testGateways } from '../../support/systems/start-gateway.ts';

// Scenario: sign-in messages reach two gateways and a real Redis; nothing consumes the lanes. A nonce
// is used by one check, whichever gateway gets it, and by none that is not charged.

const stores = testStores(9);
const CHAIN = 31_337;
const LIMITS = { requestsPerSecond: 1_000, requestsPerMonth: 1_000 };
const made = testGateways(stores);
const { gateways } = made;

const anApp = (limits: Partial<typeof LIMITS> = {}): Promise<TestApp> =>
  made.anApp(
    { tier: 'enterprise', ...LIMITS, ...limits },
    { accountId: `acc_${randomUUID()}`, domains: ['shop.example'] },
  );

async function nonceFor(app: TestApp): Promise<string> {
  const response = await gateways[0].send(app, 'POST', '/access-control/nonces');
  expect(response.status).toBe(201);
  return ((await response.json()) as { nonce: string }).nonce;
}

const checkWith = async (nonce: string) => ({
  account: SIGNER.address,
  rules: [{ type: 'NATIVE', chainId: CHAIN, roleId: 'holder' }],
  async: true,
  signIn: [await aSignIn({ nonce, chainId: CHAIN })],
});
const codeOf = async (response: Response): Promise<string> =>
  response.status === 202 ? 'accepted' : ((await response.json()) as { code: string }).code;

test('of 50 requests at once with one nonce, over two gateways, one is accepted', async () => {
  const app = await anApp();
  const body = await checkWith(await nonceFor(app));
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => gateways[index % 2 === 0 ? 0 : 1].post(app, body)),
  );
  const codes = await Promise.all(answers.map(codeOf));
  expect(codes.filter((code) => code === 'accepted')).toHaveLength(1);
  expect(codes.filter((code) => code === 'sign-in-refused')).toHaveLength(49);
});

test('a retry with its idempotency key is the same check, and another body cannot use its nonce', async () => {
  const app = await anApp();
  const nonce = await nonceFor(app);
  const body = await checkWith(nonce);
  const headers = { 'idempotency-key': 'order-1' };
  const first = await gateways[0].post(app, body, headers);
  const again = await gateways[1].post(app, body, headers);
  expect([first.status, again.status]).toEqual([202, 202]);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(await again.json()).toEqual(await first.json());
  expect(await codeOf(await gateways[0].post(app, body, { 'idempotency-key': 'order-2' }))).toBe(
    'sign-in-refused',
  );
  expect(await codeOf(await gateways[0].post(app, body))).toBe('sign-in-refused');
});

test('a nonce is of its app alone, and a request that is refused before it is charged uses none', async () => {
  const [app, other] = [await anApp({ requestsPerMonth: 1 }), await anApp()];
  const nonce = await nonceFor(app);
  const body = await checkWith(nonce);
  expect(await codeOf(await gateways[0].post(other, body))).toBe('sign-in-refused');
  expect(await codeOf(await gateways[0].post(app, { ...body, rules: [] }))).toBe('validation-failed');
  const { signIn: _, ...plain } = body;
  expect(await codeOf(await gateways[0].post(app, plain))).toBe('accepted');
  expect(await codeOf(await gateways[0].post(app, body))).toBe('monthly-quota-exceeded');
  expect(await stores.redis.exists(nonceKey(app.document.clientId, nonce))).toBe(0);
});

describe('the step of admission', () => {
  const NONCE = '0'.repeat(58);
  const start = () => {
    const { admit, release } = makeAdmitter(stores.redis, Date.now);
    const clientId = `app_${randomUUID()}`;
    const request = (check: NonNullable<AdmitRequest['check']>): AdmitRequest => ({
      ...{ clientId, accountId: clientId, limits: LIMITS, bucket: 'per-second', check },
    });
    return { admit, release, clientId, request };
  };
  /** Redis's clock, without what this database has forgotten. */
  const now = async () => {
    await stores.redis.del(VIEW_KEYS.noncesNotBefore);
    const [seconds = '0', micros = '0'] = (await stores.redis.time()) as unknown as [string, string];
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  };

  it('takes a nonce until 10 minutes after it was issued, and charges nothing for an older one', async () => {
    const { admit, request } = start();
    const nowMs = await now();
    const old = { nonce: NONCE, issuedAtMs: nowMs - 600_000 };
    const refused = await admit(request({ seed: '1.00', nonce: old }));
    expect([refused.outcome, refused.month?.remaining]).toEqual(['nonce-expired', 1_000]);
    const fresh = await admit(request({ seed: '1.01', nonce: { ...old, issuedAtMs: nowMs - 540_000 } }));
    expect([fresh.outcome, fresh.month?.remaining]).toEqual(['fresh', 999]);
  });

  it('takes no nonce that was issued before the instant at which Redis last lost data', async () => {
    const { admit, request } = start();
    const nowMs = await now();
    await stores.redis.set(VIEW_KEYS.noncesNotBefore, nowMs);
    const outcomeOf = async (issuedAtMs: number, seed: string) =>
      (await admit(request({ seed, nonce: { nonce: NONCE, issuedAtMs } }))).outcome;
    expect(await outcomeOf(nowMs, '1.00')).toBe('nonce-expired');
    expect(await outcomeOf(nowMs + 1, '1.01')).toBe('fresh');
    await stores.redis.del(VIEW_KEYS.noncesNotBefore);
  });

  it('takes a nonce again for the same key and body, where a new check replaces a spent one', async () => {
    const { admit, request } = start();
    const nonce = { nonce: NONCE, issuedAtMs: await now() };
    const claim = { keyHash: 'a'.repeat(64), bodyHash: 'b'.repeat(64) };
    expect((await admit(request({ seed: '1.00', nonce, claim }))).outcome).toBe('fresh');
    const replacing = { ...claim, replaces: '1.00' };
    expect((await admit(request({ seed: '1.01', nonce, claim: replacing }))).outcome).toBe('fresh');
    const other = { keyHash: 'a'.repeat(64), bodyHash: 'c'.repeat(64), replaces: '1.01' };
    expect((await admit(request({ seed: '1.02', nonce, claim: other }))).outcome).toBe('nonce-used');
    expect((await admit(request({ seed: '1.03', nonce }))).outcome).toBe('nonce-used');
  });

  it('gets a nonce back with the charge, unless a later request has used it', async () => {
    const { admit, release, request, clientId } = start();
    const nonce = { nonce: NONCE, issuedAtMs: await now() };
    const claim = { keyHash: 'a'.repeat(64), bodyHash: 'b'.repeat(64) };
    const { month } = await admit(request({ seed: '1.00', nonce, claim }));
    const charge = { clientId, month: month?.name ?? '', nonce: { nonce: NONCE, seed: '1.00' } };
    const replacing = { ...claim, replaces: '1.00' };
    await admit(request({ seed: '1.01', nonce, claim: replacing }));
    await release(charge);
    expect((await admit(request({ seed: '1.02', nonce }))).outcome).toBe('nonce-used');
    await release({ ...charge, nonce: { nonce: NONCE, seed: '1.01' } });
    const again = await admit(request({ seed: '1.03', nonce }));
    expect([again.outcome, again.month?.remaining]).toEqual(['fresh', 999]);
  });
});
