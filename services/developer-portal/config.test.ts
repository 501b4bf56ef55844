import { loadConfig, loadSecrets } from './config.ts';

const KEYS = `1:${'A'.repeat(43)}=`;
const load = (env: Record<string, string> = {}) => loadConfig({ ROLECALL_SECRET_KEYS: KEYS, ...env });
const secretsOf = (env: Record<string, string>) => loadSecrets({ ROLECALL_SECRET_KEYS: KEYS, ...env });

test('PORTAL_ORIGIN accepts an origin as browsers write it; empty means none', () => {
  expect(load({ PORTAL_ORIGIN: 'https://portal.example.com/' }).origin).toBe('https://portal.example.com');
  expect(load({ PORTAL_ORIGIN: '' }).origin).toBeUndefined();
  for (const wrong of [
    'portal.example.com',
    'https://portal.example.com/path',
    'ftp://x',
    'https://EXAMPLE.com',
  ])
    expect(() => load({ PORTAL_ORIGIN: wrong })).toThrow(/PORTAL_ORIGIN: not an origin/);
});

test('the public gateway URL is PUBLIC_BASE_URL if it is set', () => {
  const url = 'http://gateway:8080';
  expect(load({ GATEWAY_URL: `${url}/` }).gateway).toEqual({ url, publicUrl: url });
  const publicUrl = 'https://api.example.com/roles';
  expect(load({ GATEWAY_URL: url, PUBLIC_BASE_URL: publicUrl }).gateway).toEqual({ url, publicUrl });
});

test('secret keys are required, are not in the configuration, and appear in no error', () => {
  expect(JSON.stringify(load())).not.toContain('AAAA');
  expect(secretsOf({}).keys.current.number).toBe(1);
  expect(() => loadConfig({})).toThrow(/ROLECALL_SECRET_KEYS: missing/);
  expect(() => load({ ROLECALL_SECRET_KEYS: '1:short-and-secret' })).toThrow(
    expect.not.objectContaining({ message: expect.stringContaining('short-and-secret') }),
  );
});

test.each(['loopback', '10.0.0.0/33', 'proxy.example'])('refuses %s as a trusted proxy', (wrong) => {
  expect(() => load({ TRUSTED_PROXIES: wrong })).toThrow(/TRUSTED_PROXIES: not a list of addresses and CIDR/);
  expect(load({ TRUSTED_PROXIES: '10.0.0.0/8, ::1' }).http.trustedProxies).toEqual(['10.0.0.0/8', '::1']);
});

test('e-mail is off without SMTP_URL, needs a sender and an origin, and its password is in no configuration and no error', () => {
  const mail = {
    SMTP_URL: 'smtps://user:hidden@mail.example.com',
    MAIL_FROM: 'Rolecall <rolecall@example.com>',
  };
  const origin = { PORTAL_ORIGIN: 'https://portal.example.com' };
  expect(secretsOf(origin).mail).toBeUndefined();
  expect(secretsOf({ ...mail, ...origin }).mail).toEqual({
    url: mail.SMTP_URL,
    from: mail.MAIL_FROM,
    origin: origin.PORTAL_ORIGIN,
  });
  expect(JSON.stringify(load({ ...mail, ...origin }))).not.toContain('hidden');
  expect(() => load(mail)).toThrow(/SMTP_URL: needs MAIL_FROM, and PORTAL_ORIGIN/);
  expect(() => load({ ...origin, SMTP_URL: mail.SMTP_URL })).toThrow(/SMTP_URL: needs MAIL_FROM/);
  for (const wrong of ['http://user:hidden@mail.example.com', 'hidden']) {
    expect(() => load({ ...mail, ...origin, SMTP_URL: wrong })).toThrow(/SMTP_URL: not a URL such as/);
    expect(() => load({ ...mail, ...origin, SMTP_URL: wrong })).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('hidden') }),
    );
  }
  expect(() => load({ ...mail, ...origin, MAIL_FROM: 'nobody' })).toThrow(/MAIL_FROM: not an e-mail address/);
});

test('everybody may sign up, and operators need no second factor, unless it is said otherwise', () => {
  expect(load({ PORTAL_SIGN_UP: '', PORTAL_OPERATOR_TWO_FACTOR: '' })).toMatchObject({
    signUp: 'open',
    operatorsNeedTwoFactor: false,
  });
  expect(load({ PORTAL_SIGN_UP: 'closed', PORTAL_OPERATOR_TWO_FACTOR: 'required' })).toMatchObject({
    signUp: 'closed',
    operatorsNeedTwoFactor: true,
  });
  expect(() => load({ PORTAL_SIGN_UP: 'invited' })).toThrow(/PORTAL_SIGN_UP/);
  expect(() => load({ PORTAL_OPERATOR_TWO_FACTOR: 'true' })).toThrow(/PORTAL_OPERATOR_TWO_FACTOR/);
});

test('single sign-on is off without OIDC_ISSUER, needs a client and an origin, and hides its secret', () => {
  const provider = {
    OIDC_ISSUER: 'https://login.example.com',
    OIDC_CLIENT_ID: 'portal',
    OIDC_CLIENT_SECRET: 'hidden',
  };
  const origin = { PORTAL_ORIGIN: 'https://portal.example.com' };
  expect(secretsOf(origin).identityProvider).toBeUndefined();
  const loaded = secretsOf({ ...provider, ...origin }).identityProvider;
  expect(loaded).toMatchObject({
    issuer: provider.OIDC_ISSUER,
    clientId: 'portal',
    origin: origin.PORTAL_ORIGIN,
  });
  expect(loaded?.readClientSecret()).toBe('hidden');
  expect(JSON.stringify(load({ ...provider, ...origin }))).not.toContain('hidden');
  expect(() => load(provider)).toThrow(
    /OIDC_ISSUER: needs OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, and PORTAL_ORIGIN/,
  );
  for (const wrong of ['login.example.com', 'http://login.example.com', 'http://127.0.0.1.example.com/'])
    expect(() => load({ ...provider, ...origin, OIDC_ISSUER: wrong })).toThrow(
      /OIDC_ISSUER: not a URL such as/,
    );
  expect(() => load({ ...provider, ...origin, OIDC_ISSUER: 'http://127.0.0.1:8080' })).not.toThrow();
});
