import { Wallet } from 'ethers';
import { NONCES_PATH } from '#shared/contracts/paths.ts';
import { ServiceError } from '#shared/errors.ts';
import { NONCE_BYTES } from '#shared/stores/checks/admit.ts';
import { aMessage, aSignIn, type MessageFields, SIGNER } from '../../test/support/builders/a-sign-in.ts';
import {
  API_KEY,
  anAdmission,
  anAppWithKey,
  aResult,
  NOW_MS,
} from '../../test/support/fakes/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../test/support/fakes/fake-gateways.ts';

/** Signing in over fakes: what is judged when a check is accepted. */

const start = fakeGateways();
const startWithDomains = (options: Parameters<typeof start>[0] = {}) =>
  start({ app: anAppWithKey({ domains: ['shop.example', 'shop.example:8443'] }), ...options });
type Gateway = Awaited<ReturnType<typeof start>>;

const iso = (ms: number) => new Date(ms).toISOString();
const check = (signIn: unknown, changes: object = {}) => ({
  account: SIGNER.address,
  rules: [{ type: 'NATIVE', chainId: 1, roleId: 'holder' }],
  async: true,
  signIn,
  ...changes,
});
const nonceOf = (gateway: Gateway, clientId = 'app_1', atMs = NOW_MS) => gateway.nonces.issue(clientId, atMs);
const signInFor = (gateway: Gateway, fields: Partial<MessageFields> = {}) =>
  aSignIn({ nonce: nonceOf(gateway), issuedAt: iso(NOW_MS), ...fields });

describe('a nonce', () => {
  it.each([
    ['an empty body', undefined],
    ['{}', {}],
  ])('is issued for %s, costs rate and no quota, and is not to be stored', async (_, body) => {
    const gateway = await start();
    const response = await gateway.send('POST', '/access-control/nonces', body);
    expect(response.status).toBe(201);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const { nonce, expiresAt } = (await response.json()) as { nonce: string; expiresAt: string };
    expect(gateway.nonces.issuedAtOf(nonce, 'app_1')).toBe(NOW_MS);
    expect(expiresAt).toBe(iso(NOW_MS + 600_000));
    expect(gateway.admitted).toEqual([expect.objectContaining({ bucket: 'per-second' })]);
    expect(gateway.admitted[0]?.check).toBeUndefined();
  });

  it.each<[number, Record<string, string>, string[]]>([
    [201, {}, []],
    [201, { 'content-type': 'text/plain' }, []],
    [415, {}, ['{', '}']],
  ])(
    'is answered %i for a chunked body with %j of the chunks %j: no byte is no body',
    async (status, headers, chunks) => {
      const gateway = await start();
      const answer = await fetch(gateway.url + NONCES_PATH, {
        method: 'POST',
        headers: { 'x-api-key': API_KEY, ...headers },
        body: ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk))),
        duplex: 'half',
      });
      await answer.text();
      expect(answer.status).toBe(status);
    },
  );

  it.each([
    [{ for: 'me' }, '/for'],
    [[], ''],
  ])('is refused for the body %j', async (body, pointer) => {
    const gateway = await start();
    const { status, code, errors } = await problemOf(
      await gateway.send('POST', '/access-control/nonces', body),
    );
    expect([status, code]).toEqual([422, 'validation-failed']);
    expect(errors).toEqual([expect.objectContaining({ pointer })]);
  });

  it('is refused without the scope', async () => {
    const gateway = await start({ app: anAppWithKey({ scope: 'none' }) });
    const { status, code } = await problemOf(await gateway.send('POST', '/access-control/nonces'));
    expect([status, code]).toEqual([403, 'scope-not-approved']);
  });
});

describe('a check with signIn', () => {
  it('is published with hashes instead of texts, and its nonce goes to the step that charges', async () => {
    const gateway = await startWithDomains();
    const nonce = nonceOf(gateway);
    const signIn = await aSignIn({ nonce, issuedAt: iso(NOW_MS), domain: 'SHOP.example:8443' });
    expect((await gateway.post(check([signIn]))).status).toBe(202);
    expect(gateway.published[0]?.signIn).toEqual({
      domain: 'shop.example:8443',
      nonce,
      wallets: [
        {
          account: SIGNER.address,
          chainId: 1,
          hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
          signature: signIn.signature,
        },
      ],
    });
    expect(gateway.admitted[0]?.check?.nonce).toEqual({ nonce, issuedAtMs: NOW_MS });
  });

  it('may prove some of several accounts, with one nonce', async () => {
    const gateway = await startWithDomains();
    const second = new Wallet(`0x${'22'.repeat(32)}`);
    const nonce = nonceOf(gateway);
    const entries = await Promise.all(
      [second, SIGNER].map((signer) => aSignIn({ nonce, issuedAt: iso(NOW_MS) }, signer)),
    );
    const third = `0x${'33'.repeat(20)}`;
    const accounts = [SIGNER.address.toLowerCase(), second.address, third];
    const response = await gateway.post(check(entries, { account: undefined, accounts }));
    expect(response.status).toBe(202);
    expect(gateway.published[0]?.signIn?.wallets.map(({ account }) => account)).toEqual([
      second.address,
      SIGNER.address.toLowerCase(),
    ]);
  });

  const nonce = '0'.repeat(58);
  const sound = { message: aMessage({ nonce }), signature: '0x' };
  it.each([
    [
      'a message above 4 KiB',
      { ...sound, message: aMessage({ nonce, statement: 'a'.repeat(4_096) }) },
      'message',
    ],
    ['a message with CR LF', { ...sound, message: sound.message.replaceAll('\n', '\r\n') }, 'message'],
    ['Unicode in the statement', { ...sound, message: aMessage({ nonce, statement: 'Sign ın' }) }, 'message'],
    [
      'an address in lower case',
      { ...sound, message: aMessage({ nonce, address: SIGNER.address.toLowerCase() }) },
      'message',
    ],
    ['a signature above 4 096 bytes', { ...sound, signature: `0x${'00'.repeat(4_097)}` }, 'signature'],
    ['a signature without 0x', { ...sound, signature: '00' }, 'signature'],
    ['a signature of half a byte', { ...sound, signature: '0x0' }, 'signature'],
  ])('is malformed with %s, and costs no quota', async (_, entry, member) => {
    const gateway = await startWithDomains();
    const { status, code, errors } = await problemOf(await gateway.post(check([entry])));
    expect([status, code]).toEqual([422, 'sign-in-malformed']);
    expect(errors).toEqual([expect.objectContaining({ pointer: `/signIn/0/${member}`, code })]);
    expect(gateway.admitted[0]?.check).toBeUndefined();
  });

  it('may have a signature of 4 096 bytes, and an empty one', async () => {
    const gateway = await startWithDomains();
    for (const signature of ['0x', `0x${'Ab'.repeat(4_096)}`]) {
      const signIn = await signInFor(gateway);
      expect((await gateway.post(check([{ ...signIn, signature }]))).status).toBe(202);
    }
  });

  it('names every other fault of the body by its pointer', async () => {
    const gateway = await startWithDomains();
    const faultsOf = async (signIn: unknown) => {
      const { status, errors } = await problemOf(await gateway.post(check(signIn)));
      expect(status).toBe(422);
      return (errors as { pointer: string; code: string }[]).map(({ pointer, code }) => `${pointer} ${code}`);
    };
    expect(await faultsOf([])).toEqual(['/signIn too-short']);
    expect(await faultsOf('0x')).toEqual(['/signIn wrong-type']);
    expect(await faultsOf(null)).toEqual(['/signIn wrong-type']);
    expect(await faultsOf(Array(17).fill(sound))).toEqual(['/signIn too-many']);
    expect(await faultsOf([{ message: sound.message }])).toEqual(['/signIn/0/signature required']);
    expect(await faultsOf([{ ...sound, message: 7, more: 1 }])).toEqual([
      '/signIn/0/message wrong-type',
      '/signIn/0/more unknown-member',
    ]);
    expect(await faultsOf([{ ...sound, message: aMessage({ nonce, chainId: 5 }) }])).toEqual([
      '/signIn/0/message chain-unsupported',
    ]);
    expect(await faultsOf([sound, { ...sound, message: aMessage({ nonce: 'another0' }) }])).toEqual([
      '/signIn/1/message sign-in-malformed',
    ]);
    expect(await faultsOf([sound, { ...sound, message: aMessage({ nonce, domain: 'b.example' }) }])).toEqual([
      '/signIn/1/message sign-in-malformed',
    ]);
  });

  it('tells of a malformed body before it tells of a refusal', async () => {
    const gateway = await startWithDomains();
    const signIn = await signInFor(gateway, { domain: 'evil.example' });
    const { status } = await problemOf(await gateway.post(check([signIn], { rules: [] })));
    expect(status).toBe(422);
  });

  it.each<[string, (gateway: Gateway) => Partial<MessageFields>, object]>([
    ['a domain that is not of the app', () => ({ domain: 'evil.example' }), {}],
    ['a lookalike of a domain', () => ({ domain: 'shop.example.evil.example' }), {}],
    ['a domain with a user name', () => ({ domain: 'shop.example@evil.example' }), {}],
    ['another port', () => ({ domain: 'shop.example:8444' }), {}],
    ['the default port written out', () => ({ domain: 'shop.example:443' }), {}],
    ['an invented nonce', () => ({ nonce: 'a'.repeat(58) }), {}],
    ['a nonce of another app', (gateway) => ({ nonce: nonceOf(gateway, 'app_2') }), {}],
    ['an issue time more than 60 s ahead', () => ({ issuedAt: iso(NOW_MS + 60_001) }), {}],
    ['an expired message', () => ({ more: [`Expiration Time: ${iso(NOW_MS)}`] }), {}],
    ['an early message', () => ({ more: [`Not Before: ${iso(NOW_MS + 1)}`] }), {}],
    ['an address that is not checked', () => ({}), { account: `0x${'44'.repeat(20)}` }],
  ])('is refused by 403 with %s, and costs rate but no quota', async (_, fields, changes) => {
    const gateway = await startWithDomains();
    const response = await gateway.post(check([await signInFor(gateway, fields(gateway))], changes));
    expect(response.headers.get('ratelimit')).not.toBeNull();
    const { status, code, errors } = await problemOf(response);
    expect([status, code]).toEqual([403, 'sign-in-refused']);
    expect(errors).toEqual([expect.objectContaining({ pointer: '/signIn/0/message', code })]);
    expect(gateway.admitted).toHaveLength(1);
    expect(gateway.admitted[0]?.check).toBeUndefined();
    expect(gateway.published).toEqual([]);
  });

  it('is refused by 403 with two messages of one address, and where the app has no domains', async () => {
    const gateway = await startWithDomains();
    const signIn = await signInFor(gateway);
    const { errors } = await problemOf(await gateway.post(check([signIn, signIn])));
    expect(errors).toEqual([expect.objectContaining({ pointer: '/signIn/1/message' })]);
    const bare = await start();
    expect((await bare.post(check([await signInFor(bare)]))).status).toBe(403);
  });

  it.each([
    ['nonce-used', /used/],
    ['nonce-expired', /expired/],
  ] as const)('is refused by 403 where the admission says %s', async (outcome, detail) => {
    const gateway = await startWithDomains({ admit: async (request) => anAdmission(request, { outcome }) });
    const { status, code, errors } = await problemOf(await gateway.post(check([await signInFor(gateway)])));
    expect([status, code]).toEqual([403, 'sign-in-refused']);
    expect(errors).toEqual([{ pointer: '/signIn/0/message', code, detail: expect.stringMatching(detail) }]);
  });

  it('gives the nonce back with the charge if it was surely not published', async () => {
    const gateway = await startWithDomains({
      publish: async () => {
        throw new ServiceError('broker-unavailable', 'no broker');
      },
    });
    const nonce = nonceOf(gateway);
    const signIn = await aSignIn({ nonce, issuedAt: iso(NOW_MS) });
    expect((await gateway.post(check([signIn]))).status).toBe(503);
    expect(gateway.released).toEqual([
      {
        clientId: 'app_1',
        month: '2026-11',
        nonce: { nonce, seed: gateway.admitted[0]?.check?.seed },
        unwritten: {
          accountId: 'account_1',
          atMs: NOW_MS,
          bytes: (gateway.admitted[0]?.check?.bytes ?? 0) + NONCE_BYTES,
        },
      },
    ]);
  });

  it('is replayed by its idempotency key after its message has expired', async () => {
    const claim = { atMs: NOW_MS, seed: '1.00', requestId: 'first', month: '2026-11' };
    const gateway = await startWithDomains({
      admit: async (request) => anAdmission(request, { outcome: 'published', claim }),
    });
    const signIn = await signInFor(gateway, { more: [`Expiration Time: ${iso(NOW_MS - 1)}`] });
    const response = await gateway.post(check([signIn]), { 'idempotency-key': 'k' });
    expect(response.status).toBe(202);
    expect(response.headers.get('idempotency-replayed')).toBe('true');
    expect(gateway.admitted[0]?.check?.isReplayOnly).toBe(true);
  });
});

describe('a sync check whose wallet is not proved', () => {
  const entry = (changes: object) => ({
    account: SIGNER.address,
    code: 'sign-in-unread',
    message: 'The wallet could not be asked.',
    retryable: true,
    chainId: 1,
    ...changes,
  });
  const answerWith = async (errors: readonly unknown[]) => {
    const gateway = await startWithDomains({
      syncDeadlineMs: 600_000,
      publish: async ({ requestId }) =>
        gateway.complete(requestId, aResult(requestId, { status: 'failed', roles: [], errors })),
    });
    const response = await gateway.post(check([await signInFor(gateway)], { async: undefined }));
    return { response, requestId: gateway.published[0]?.requestId };
  };

  it('is answered 403 with the stored errors if the signature was refused', async () => {
    const errors = [entry({ code: 'sign-in-refused', retryable: false })];
    const { response, requestId } = await answerWith(errors);
    const problem = await problemOf(response);
    expect(problem).toMatchObject({ status: 403, code: 'sign-in-refused', requestId, errors });
    expect(problem['instance']).toBe(`/requests/${requestId}`);
  });

  it('is answered 503 if its chain could not be read, with the refund in the headers', async () => {
    const { response } = await answerWith([entry({})]);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.headers.get('ratelimit')).toContain('"per-month";r=10000');
    expect(await problemOf(response)).toMatchObject({ status: 503, code: 'evaluation-unavailable' });
  });

  it('is answered 200 as failed if the wallet used up its gas', async () => {
    const { response } = await answerWith([entry({ retryable: false })]);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ status: 'failed', roles: [] });
    expect(response.headers.get('ratelimit')).toContain('"per-month";r=9999');
  });
});
