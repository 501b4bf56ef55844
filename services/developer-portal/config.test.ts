import { loadConfig, loadSecretKeys } from './config.ts';

const KEYS = `1:${'A'.repeat(43)}=`;
const load = (env: Record<string, string> = {}) => loadConfig({ ROLECALL_SECRET_KEYS: KEYS, ...env });

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
  expect(loadSecretKeys({ ROLECALL_SECRET_KEYS: KEYS }).current.number).toBe(1);
  expect(() => loadConfig({})).toThrow(/ROLECALL_SECRET_KEYS: missing/);
  expect(() => load({ ROLECALL_SECRET_KEYS: '1:short-and-secret' })).toThrow(
    expect.not.objectContaining({ message: expect.stringContaining('short-and-secret') }),
  );
});

test.each(['loopback', '10.0.0.0/33', 'proxy.example'])('refuses %s as a trusted proxy', (wrong) => {
  expect(() => load({ TRUSTED_PROXIES: wrong })).toThrow(/TRUSTED_PROXIES: not a list of addresses and CIDR/);
  expect(load({ TRUSTED_PROXIES: '10.0.0.0/8, ::1' }).http.trustedProxies).toEqual(['10.0.0.0/8', '::1']);
});
