import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import type { ProofAlg } from '#shared/contracts/checks/proof-claims.ts';
import { jwksOf, parsePublicRing, publicRingOf } from '#shared/proof-keys.ts';
import { parseKeyRing } from '#shared/secret-box.ts';
import type { ProvenRequest, ProvenResult } from '../domain/proof-claims.ts';
import { makeProve } from './sign-proof.ts';

const seedOf = (fill: number): string => Buffer.alloc(32, fill).toString('base64');
const RING = `1:${seedOf(1)},2:${seedOf(2)}`;
const HASH = `0x${'cd'.repeat(32)}`;
const ACCOUNT = `0x${'Ab'.repeat(20)}`;
const AT = '2026-11-22T10:00:00.900Z';
const IAT = Date.parse('2026-11-22T10:00:00Z') / 1_000;

const aRequest = (changes: Partial<ProvenRequest> = {}): ProvenRequest => ({
  clientId: 'app_1',
  account: ACCOUNT,
  onUndetermined: 'omit',
  consistency: {},
  proof: { seconds: 300, alg: 'EdDSA', rulesDigest: 'sha-256=:digest:' },
  ...changes,
});
const aResult = (changes: Partial<ProvenResult> = {}): ProvenResult => ({
  status: 'completed',
  roles: [
    { id: 'gold', granted: true },
    { id: 'silver', granted: false },
  ],
  errors: [],
  evaluatedAt: AT,
  blocks: { '1': { number: 7, hash: HASH, timestamp: 1, proved: true } },
  ...changes,
});
const unread = (roleId: string): ProvenResult['errors'][number] => ({
  ruleIndex: 2,
  roleId,
  code: 'rpc-timeout',
  message: 'No answer.',
  retryable: true,
  chainId: 1,
});

const missing: string[] = [];
const proveWith = (ring: string | undefined, publicBaseUrl = 'https://x.example/api') =>
  makeProve({
    publicBaseUrl,
    keys: ring === undefined ? undefined : parseKeyRing(ring),
    noteMissingKey: (jti) => void missing.push(jti),
  });
const jwksOfRing = (ring: string) => jwksOf(parsePublicRing(publicRingOf(ring))) as unknown as JSONWebKeySet;

async function claimsOfProof(request: ProvenRequest, result: ProvenResult, jti = 'req_1') {
  const jws = proveWith(RING)(request, result, jti) ?? '';
  const { payload } = await jwtVerify(jws, createLocalJWKSet(jwksOfRing(RING)), {
    typ: 'rolecall-verdict+jwt',
    algorithms: [request.proof?.alg ?? ''],
    audience: 'app_1',
    currentDate: new Date(AT),
  });
  return payload;
}

const anAsk = (alg: ProofAlg) => ({ seconds: 300, alg, rulesDigest: 'sha-256=:digest:' });

test.each(['EdDSA', 'ES256'] as const)(
  'a proof by %s has the documented claims, and a JOSE library verifies it',
  async (alg) => {
    expect(await claimsOfProof(aRequest({ proof: anAsk(alg) }), aResult())).toEqual({
      iss: 'https://x.example/api/apps/app_1',
      aud: 'app_1',
      sub: ACCOUNT.toLowerCase(),
      accounts: [ACCOUNT.toLowerCase()],
      jti: 'req_1',
      iat: IAT,
      exp: IAT + 300,
      granted: ['gold'],
      denied: ['silver'],
      undetermined: [],
      blocks: { '1': { number: 7, hash: HASH } },
      rulesDigest: 'sha-256=:digest:',
    });
  },
);

test('several wallets have no subject; vaults and the block asked for are as in the request', async () => {
  const accounts = [ACCOUNT, `0x${'11'.repeat(20)}`];
  const vaults = [`0x${'Ee'.repeat(20)}`];
  const request = aRequest({ accounts, vaults, consistency: { atBlock: { '1': 7 } } });
  const claims = await claimsOfProof(request, aResult(), 'req_1.17');
  expect(claims).toMatchObject({
    accounts: accounts.map((account) => account.toLowerCase()),
    vaults,
    atBlock: { '1': 7 },
    jti: 'req_1.17',
  });
  expect(claims).not.toHaveProperty('sub');
});

test('a role that could not be read is undetermined, and also denied only if the client requested that', async () => {
  const errors = [unread('bronze'), unread('gold')];
  const omitted = await claimsOfProof(aRequest(), aResult({ errors }));
  expect(omitted).toMatchObject({ granted: ['gold'], denied: ['silver'], undetermined: ['bronze'] });
  const roles = [...aResult().roles, { id: 'bronze', granted: false }];
  const denied = await claimsOfProof(aRequest({ onUndetermined: 'deny' }), aResult({ errors, roles }));
  expect(denied).toMatchObject({
    granted: ['gold'],
    denied: ['silver', 'bronze'],
    undetermined: ['bronze'],
  });
});

test('the issuer is the client app, by a URN where the public address is not known', () => {
  const issuerOf = (clientId: string) =>
    decodeJwt(proveWith(RING, '')(aRequest({ clientId }), aResult(), 'req_1') ?? '').iss;
  expect(issuerOf('app_1')).toBe('urn:rolecall:app_1');
  expect(issuerOf('app_2')).toBe('urn:rolecall:app_2');
});

describe('a proof of a check with sign-ins', () => {
  const OTHER = `0x${'11'.repeat(20)}`;
  const signInOf = (...accounts: string[]) => ({
    domain: 'shop.example:8443',
    nonce: 'a1b2c3d4e5f6a7b8',
    wallets: accounts.map((account) => ({
      account,
      chainId: 1,
      hash: `0x${'0'.repeat(64)}`,
      signature: '0x',
    })),
  });
  const granting = (...ids: string[]) => aResult({ roles: ids.map((id) => ({ id, granted: true })) });

  test('tells who has signed in, for which page and by which nonce, and has the granted roles as scope', async () => {
    const claims = await claimsOfProof(aRequest({ signIn: signInOf(ACCOUNT) }), aResult());
    expect(claims).toMatchObject({
      scope: 'gold',
      signedIn: [ACCOUNT.toLowerCase()],
      domain: 'shop.example:8443',
      nonce: 'a1b2c3d4e5f6a7b8',
    });
  });

  test('has a scope only if every account has signed in', async () => {
    const accounts = [ACCOUNT, OTHER];
    const some = await claimsOfProof(aRequest({ accounts, signIn: signInOf(OTHER) }), aResult());
    expect(some).toMatchObject({ signedIn: [OTHER] });
    expect(some).not.toHaveProperty('scope');
    const all = await claimsOfProof(aRequest({ accounts, signIn: signInOf(OTHER, ACCOUNT) }), aResult());
    expect(all).toMatchObject({ signedIn: [OTHER, ACCOUNT.toLowerCase()], scope: 'gold' });
  });

  test.each([
    ['leaves out roles that are no scope tokens', ['a b', 'a"b', 'a\\b', 'Zoë', 'a:b/c'], 'a:b/c'],
    ['is absent if no role is left', ['a b'], undefined],
    ['is absent if nothing is granted', [], undefined],
    ['may have 4 KiB', ['x'.repeat(4_096)], 'x'.repeat(4_096)],
    ['is absent above 4 KiB', ['x'.repeat(2_048), 'y'.repeat(2_048)], undefined],
  ])('its scope %s', async (_name, roles, scope) => {
    const claims = await claimsOfProof(aRequest({ signIn: signInOf(ACCOUNT) }), granting(...roles));
    expect(claims['scope']).toBe(scope);
  });
});

test('the highest number signs, and a verifier that has only retired keys refuses', async () => {
  const jws = proveWith(RING)(aRequest(), aResult(), 'req_1') ?? '';
  const [newest, , retired] = jwksOfRing(RING).keys;
  expect(decodeProtectedHeader(jws)).toEqual({ alg: 'EdDSA', kid: newest?.kid, typ: 'rolecall-verdict+jwt' });
  const onlyRetired = createLocalJWKSet({ keys: [retired ?? {}] } as JSONWebKeySet);
  await expect(jwtVerify(jws, onlyRetired, { currentDate: new Date(AT) })).rejects.toMatchObject({
    code: 'ERR_JWKS_NO_MATCHING_KEY',
  });
});

test('a check that asks for no proof, and a failed result, are not signed', () => {
  const { proof: _proof, ...plain } = aRequest();
  expect(proveWith(RING)(plain, aResult(), 'req_1')).toBeUndefined();
  expect(proveWith(RING)(aRequest(), aResult({ status: 'failed' }), 'req_1')).toBeUndefined();
});

test('a process without keys says so and leaves the result unsigned', () => {
  expect(proveWith(undefined)(aRequest(), aResult(), 'req_9')).toBeUndefined();
  expect(missing).toEqual(['req_9']);
});
