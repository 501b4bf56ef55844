import { SignJWT } from 'jose';
import { jwksOf, kidOfSeed, privateKeyOf, publicRingOf } from '#shared/proof-keys.ts';
import { parseKeyRing } from '#shared/secret-box.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { type Answers, type Step, startAnswers } from '../answers.fixture.ts';
import type { Jwks } from './jwks.ts';
import { verifyProof } from './verify-proof.ts';

const seedOf = (fill: number): Buffer => Buffer.alloc(32, fill);
const jwksOfSeeds = (...fills: readonly number[]): Jwks =>
  jwksOf(
    parseKeyRing(publicRingOf(fills.map((fill) => `${fill}:${seedOf(fill).toString('base64')}`).join(','))),
  ) as unknown as Jwks;
const JWKS = jwksOfSeeds(1, 2);
const NOW = Math.floor(Date.now() / 1_000);

/** Signed by `jose`: these tests check the verifier alone. */
const sign = (claims: object = {}, header: object = {}, fill = 1): Promise<string> =>
  new SignJWT({
    iss: 'urn:rolecall',
    aud: 'app_1',
    iat: NOW,
    exp: NOW + 300,
    granted: ['gold'],
    rulesDigest: 'd',
    ...claims,
  })
    .setProtectedHeader({
      alg: 'EdDSA',
      typ: 'rolecall-verdict+jwt',
      kid: kidOfSeed(seedOf(fill)),
      ...header,
    })
    .sign(privateKeyOf(seedOf(fill)));
const options = { jwks: JWKS, audience: 'app_1' };

test('returns the claims of a proof that any key of the document has signed', async () => {
  expect(await verifyProof(await sign(), options)).toMatchObject({ aud: 'app_1', granted: ['gold'] });
  expect(await verifyProof(await sign({}, {}, 2), options)).toMatchObject({ granted: ['gold'] });
});

test.each([
  ['another audience', { aud: 'app_2' }, {}, {}, 'proof-audience-mismatch'],
  ['an expired proof', { exp: NOW - 60 }, {}, {}, 'proof-expired'],
  ['a proof without an end', { exp: undefined }, {}, {}, 'proof-expired'],
  ['a proof from the future', { iat: NOW + 3_600, exp: NOW + 7_200 }, {}, {}, 'proof-invalid'],
  ['a token of another type', {}, { typ: 'JWT' }, {}, 'proof-invalid'],
  ['a key that is not in the document', {}, { kid: 'retired' }, {}, 'proof-key-unknown'],
  ['another issuer', {}, {}, { issuer: 'https://other.example' }, 'proof-invalid'],
  ['other rules', {}, {}, { rulesDigest: 'other' }, 'proof-invalid'],
])('refuses %s', async (_name, claims, header, more, code) => {
  await expect(verifyProof(await sign(claims, header), { ...options, ...more })).rejects.toMatchObject({
    code,
  });
});

test('refuses a proof that was changed, cut or never signed', async () => {
  const proof = await sign();
  const [header = '', payload = '', signature = ''] = proof.split('.');
  const forged = Buffer.from(
    Buffer.from(payload, 'base64url').toString().replace('gold', 'platinum'),
  ).toString('base64url');
  const none = Buffer.from('{"alg":"none","typ":"rolecall-verdict+jwt","kid":"x"}').toString('base64url');
  const broken = [
    `${header}.${forged}.${signature}`,
    `${header}.${payload}`,
    `${none}.${payload}.`,
    '',
    'a.b.c',
    `${proof}.x`,
  ];
  for (const text of broken)
    await expect(verifyProof(text, options)).rejects.toMatchObject({ code: 'proof-invalid' });
});

test('refuses the proof of a retired key once the document no longer has it', async () => {
  const proof = await sign({}, {}, 1);
  await expect(verifyProof(proof, { ...options, jwks: jwksOfSeeds(2) })).rejects.toMatchObject({
    code: 'proof-key-unknown',
  });
});

test.each([{}, { keys: 'none' }, null, { keys: [{ kty: 'OKP', crv: 'Ed25519', kid: 'k', x: '!' }] }])(
  'says that the document %j is none',
  async (jwks) => {
    const work = verifyProof(await sign(), { ...options, jwks: jwks as unknown as Jwks });
    await expect(work).rejects.toMatchObject({ code: 'jwks-invalid' });
  },
);

describe('the URL of a document', () => {
  let answers: Answers | undefined;
  afterEach(() => {
    jest.restoreAllMocks();
    return answers?.[Symbol.asyncDispose]();
  });
  const serve = async (...steps: Step[]): Promise<string> => {
    answers = await startAnswers(...steps);
    return `${answers.url}/.well-known/jwks.json`;
  };
  const document = (jwks: unknown): Step => ({ do: 'answer', status: 200, body: JSON.stringify(jwks) });

  test('is read once for many proofs', async () => {
    const jwks = await serve(document(JWKS));
    const proof = await sign();
    await Promise.all(Array.from({ length: 5 }, () => verifyProof(proof, { ...options, jwks })));
    await verifyProof(await sign({}, {}, 2), { ...options, jwks });
    expect(answers?.requests).toHaveLength(1);
  });

  test('is not read again for every proof of an unknown key', async () => {
    jest.spyOn(performance, 'now').mockReturnValue(0);
    const jwks = await serve(document(JWKS));
    for (const kid of ['a', 'b', 'c'])
      await expect(verifyProof(await sign({}, { kid }), { ...options, jwks })).rejects.toMatchObject({
        code: 'proof-key-unknown',
      });
    expect(answers?.requests).toHaveLength(1);
  });

  test('keeps its keys while it is read again for an unknown key, and when it cannot be', async () => {
    const jwks = await serve(document(JWKS), { do: 'reset' });
    const proof = await sign();
    await verifyProof(proof, { ...options, jwks });
    jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 10_000);
    const unknown = await sign({}, { kid: 'a' });
    const refused = verifyProof(unknown, { ...options, jwks });
    expect(await verifyProof(proof, { ...options, jwks })).toMatchObject({ granted: ['gold'] });
    await expect(refused).rejects.toMatchObject({ code: 'network-unavailable' });
    expect(await verifyProof(proof, { ...options, jwks })).toMatchObject({ granted: ['gold'] });
    // The stranger cannot have it requested again at once.
    await expect(verifyProof(unknown, { ...options, jwks })).rejects.toMatchObject({
      code: 'network-unavailable',
    });
    expect(answers?.requests).toHaveLength(2);
  });

  const HOUR_MS = 3_600_000;
  const passTime = (ms: number) => jest.spyOn(performance, 'now').mockReturnValue(performance.now() + ms);

  test('that cannot be read leaves its keys in use for a day, and is requested every ten seconds', async () => {
    const jwks = await serve(document(JWKS), { do: 'reset' });
    const proof = await sign();
    await verifyProof(proof, { ...options, jwks });
    passTime(HOUR_MS);
    for (let i = 0; i < 3; i++)
      expect(await verifyProof(proof, { ...options, jwks })).toMatchObject({ granted: ['gold'] });
    expect(answers?.requests).toHaveLength(2);
    passTime(10_000);
    expect(await verifyProof(proof, { ...options, jwks })).toMatchObject({ granted: ['gold'] });
    await waitUntil('the next request', () => answers?.requests.length === 3);
    passTime(23 * HOUR_MS);
    await expect(verifyProof(proof, { ...options, jwks })).rejects.toMatchObject({
      code: 'network-unavailable',
    });
  });

  test('that hangs makes no proof wait once a request for it has failed', async () => {
    const jwks = await serve(document(JWKS), { do: 'reset' }, { do: 'hang' });
    const proof = await sign();
    for (let i = 0; i < 3; i++) {
      expect(await verifyProof(proof, { ...options, jwks })).toMatchObject({ granted: ['gold'] });
      passTime(HOUR_MS);
    }
    await waitUntil('the request that hangs', () => answers?.requests.length === 3);
  });

  test('takes a retired key away as soon as it is read again', async () => {
    const jwks = await serve(document(JWKS), { do: 'reset' }, document(jwksOfSeeds(2)));
    const proof = await sign();
    await verifyProof(proof, { ...options, jwks });
    passTime(HOUR_MS);
    await verifyProof(proof, { ...options, jwks });
    passTime(HOUR_MS);
    await waitUntil('the refusal of the retired key', () =>
      verifyProof(proof, { ...options, jwks }).then(
        () => false,
        ({ code }) => code === 'proof-key-unknown',
      ),
    );
    expect(await verifyProof(await sign({}, {}, 2), { ...options, jwks })).toMatchObject({ aud: 'app_1' });
  });

  test('may be a URL object of another realm', async () => {
    const jwks = await serve(document(JWKS));
    const foreign = { href: jwks, toString: () => jwks } as unknown as URL;
    expect(await verifyProof(await sign(), { ...options, jwks: foreign })).toMatchObject({ aud: 'app_1' });
  });

  test.each<[string, Step, string]>([
    ['an HTML page', { do: 'answer', status: 200, body: '<html>' }, 'jwks-invalid'],
    ['404', { do: 'answer', status: 404, body: '{}' }, 'jwks-invalid'],
    ['a reset connection', { do: 'reset' }, 'network-unavailable'],
  ])('that answers with %s is an error that is not kept', async (_name, step, code) => {
    const jwks = await serve(step, document(JWKS));
    await expect(verifyProof(await sign(), { ...options, jwks })).rejects.toMatchObject({ code });
    expect(await verifyProof(await sign(), { ...options, jwks })).toMatchObject({ granted: ['gold'] });
  });
});
