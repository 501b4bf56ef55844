import { loadConfig, loadSecrets, warningsOf } from './config.ts';

const ID_KEYS = `1:${Buffer.alloc(32, 5).toString('base64')}`;
const ENV = { CHAINS_FILE: '/etc/chains.json', ROLECALL_ID_KEYS: ID_KEYS };

describe('the configuration of the gateway', () => {
  it('has a default for all but the chain file and the id keys', () => {
    expect(loadConfig(ENV)).toMatchObject({
      http: { host: '0.0.0.0', port: 8080, publicBaseUrl: '' },
      syncDeadlineMs: 10_000,
      retentionMs: { interactive: 3_600_000, bulk: 259_200_000 },
      callback: { allowHttp: false, allowedCidrs: [] },
    });
    expect(loadSecrets(ENV).idKeys.current.number).toBe(1);
  });

  it('names every wrong variable at once and never a value', () => {
    const wrong = { HTTP_PORT: 'secret-a', ROLECALL_ID_KEYS: 'secret-b', WEBHOOK_ALLOWED_CIDRS: 'secret-c' };
    const load = () => loadConfig(wrong);
    for (const name of ['CHAINS_FILE', ...Object.keys(wrong)]) expect(load).toThrow(name);
    expect(load).not.toThrow('secret');
  });

  it('holds no secret', () => {
    expect(JSON.stringify(loadConfig(ENV))).not.toContain(ID_KEYS.slice(2));
  });

  it.each(['loopback', '10.0.0.0/33', 'proxy.example'])('refuses %s as a trusted proxy', (wrong) => {
    expect(() => loadConfig({ ...ENV, TRUSTED_PROXIES: wrong })).toThrow(
      'TRUSTED_PROXIES: not a list of addresses and CIDR blocks',
    );
  });

  it('refuses a stop that is shorter than a sync check', () => {
    const env = { ...ENV, SYNC_DEADLINE_MS: '20000' };
    expect(() => loadConfig({ ...env, SHUTDOWN_TIMEOUT_MS: '23999' })).toThrow('SHUTDOWN_TIMEOUT_MS');
    expect(loadConfig({ ...env, SHUTDOWN_TIMEOUT_MS: '24000' }).syncDeadlineMs).toBe(20_000);
  });

  it.each([
    ['10000', 20_000],
    ['16001', 20_001],
    ['25000', 29_000],
  ])('allows a stop enough time for sync checks of %s ms by default', (deadline, expected) => {
    expect(loadConfig({ ...ENV, SYNC_DEADLINE_MS: deadline }).shutdownTimeoutMs).toBe(expected);
  });

  it('warns by name of settings that contradict each other or open the guard, and of no default', () => {
    expect(warningsOf(loadConfig(ENV))).toEqual([]);
    const contrary = {
      IN_FLIGHT_MAX: '100',
      CONNECTIONS_MAX: '50',
      RESULT_RETENTION_HOURS: '0.5',
      WEBHOOK_ALLOW_HTTP: 'true',
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    };
    const told = warningsOf(loadConfig({ ...ENV, ...contrary })).join('\n');
    for (const name of Object.keys(contrary)) expect(told).toContain(name);
  });

  it('accepts fractions of hours, and a base URL with a path', () => {
    const config = loadConfig({
      ...ENV,
      RESULT_RETENTION_HOURS: '0.001',
      PUBLIC_BASE_URL: 'https://x.example/api/',
    });
    expect(config.retentionMs.bulk).toBe(3_600);
    expect(config.http.publicBaseUrl).toBe('https://x.example/api');
  });
});
