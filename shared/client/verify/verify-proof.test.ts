import { SignJWT } from 'jose';
import { PROOF_ALGS, type ProofAlg } from '#shared/contracts/checks/proof-claims.ts';
import { jwksOf, kidOfSeed, parsePublicRing, privateKeyOf, publicRingOf } from '#shared/proof-keys.ts';
import { type Answers, type Step, startAnswers } from '../../../test/support/client/answer-by-steps.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { Jwks } from './jwks.ts';
import { verifyProof } from './verify-proof.ts';

const seedOf = (fill: number): Buffer => Buffer.alloc(32, fill);
const jwksOfSeeds = (...fills: readonly number[]): Jwks =>
  jwksOf(
    parsePublicRing(
      publicRingOf(fills.map((fill) => `${fill}:${seedOf(fill).toString('base64')}`).join(',')),
    ),
  ) as unknown as Jwks;
const JWKS = jwksOfSeeds(1, 2);
const NOW = Math.floor(Date.now() / 1_000);

/** Signed by `jose`: these tests check the verifier alone. */
const sign = (claims: object = {}, header: object = {}, fill = 1, alg: ProofAlg = 'EdDSA'): Promise<string> =>
  new SignJWT({
    iss: 'urn:rolecall:app_1',
    aud: 'app_1',
    iat: NOW,
    exp: NOW + 300,
    granted: ['gold'],
    rulesDigest: 'd',
    ...claims,
  })
    .setProtectedHeader({
      alg,
      typ: 'rolecall-verdict+jwt',
      kid: kidOfSeed(seedOf(fill), alg),
      ...header,
    })
    .sign(privateKeyOf(seedOf(fill), alg));
const options = { jwks: JWKS, audience: 'app_1' };

test.each(PROOF_ALGS)(
  'returns the claims of a proof by %s that any key of the document has signed',
  async (alg) => {
    const signed = await sign({}, {}, 1, alg);
    expect(await verifyProof(signed, options)).toMatchObject({ aud: 'app_1', granted: ['gold'] });
    expect(await verifyProof(await sign({}, {}, 2, alg), options)).toMatchObject({ granted: ['gold'] });
  },
);

test.each([
  ['EdDSA', 'ES256'],
  ['ES256', 'EdDSA'],
] as const)('refuses a proof by %s that names the key for %s', async (alg, other) => {
  const proof = sign({}, { kid: kidOfSeed(seedOf(1), other) }, 1, alg);
  await expect(verifyProof(await proof, options)).rejects.toMatchObject({ code: 'proof-invalid' });
});

test.each(PROOF_ALGS)('refuses HS256 with the public key for %s as the secret', async (alg) => {
  const { kid = '', x } = JWKS.keys.find(({ kid }) => kid === kidOfSeed(seedOf(1), alg)) ?? {};
  for (const secret of [Buffer.from(String(x), 'base64url'), Buffer.from(JSON.stringify(JWKS.keys[0]))]) {
    const proof = new SignJWT({ aud: 'app_1', iat: NOW, exp: NOW + 300, granted: ['gold'] })
      .setProtectedHeader({ alg: 'HS256', typ: 'rolecall-verdict+jwt', kid })
      .sign(secret);
    await expect(verifyProof(await proof, options)).rejects.toMatchObject({ code: 'proof-invalid' });
  }
});

test('verifies ES256 where the runtime does not know Ed25519', async () => {
  const importKey = crypto.subtle.importKey.bind(crypto.subtle);
  const spy = jest.spyOn(crypto.subtle, 'importKey').mockImplementation((...args: unknown[]) => {
    if ((args[2] as { name: string }).name === 'Ed25519')
      return Promise.reject(new DOMException('Unrecognized name.', 'NotSupportedError'));
    return (importKey as (...all: unknown[]) => ReturnType<typeof importKey>)(...args);
  });
  try {
    const proof = await sign({}, {}, 1, 'ES256');
    expect(await verifyProof(proof, options)).toMatchObject({ granted: ['gold'] });
    await expect(verifyProof(await sign(), options)).rejects.toMatchObject({ code: 'jwks-invalid' });
  } finally {
    spy.mockRestore();
  }
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

const KID = kidOfSeed(seedOf(1), 'EdDSA');
test.each([{}, { keys: 'none' }, null, { keys: [{ kty: 'OKP', crv: 'Ed25519', kid: KID, x: '!' }] }])(
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
