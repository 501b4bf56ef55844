import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import {
  boolean,
  commaList,
  commonConfig,
  commonEnvironment,
  decimal,
  integer,
  loadCommonConfig,
  loadEnvironment,
  secret,
} from './config.ts';

const schema = z.object({
  COUNT: integer({ min: 1, max: 10, default: 5 }),
  SCALE: decimal({ min: 0.001, max: 1, default: 1 }),
  ALLOWED: boolean(false),
  NAMES: commaList(''),
  SECRET: z.string().min(1),
});

test('an unset variable has its default', () => {
  expect(loadEnvironment(schema, { SECRET: 's' })).toEqual({
    COUNT: 5,
    SCALE: 1,
    ALLOWED: false,
    NAMES: [],
    SECRET: 's',
  });
});

test('every wrong variable is named at once, and no value is repeated', () => {
  const wrong = { COUNT: 'hunter2', SCALE: '7', ALLOWED: 'yes please', NAMES: 'a' };
  const load = () => loadEnvironment(schema, wrong);
  for (const name of ['COUNT', 'SCALE', 'ALLOWED', 'SECRET: missing']) expect(load).toThrow(name);
  for (const value of ['hunter2', 'yes please']) expect(load).not.toThrow(value);
});

test('an empty text clears a permission that is on by default', () => {
  const permission = z.object({ ALLOWED: boolean(true) });
  expect(loadEnvironment(permission, {}).ALLOWED).toBe(true);
  expect(loadEnvironment(permission, { ALLOWED: '' }).ALLOWED).toBe(false);
});

test('an empty text is a fault for a number, and an empty list for a list', () => {
  expect(() => loadEnvironment(schema, { SECRET: 's', COUNT: '' })).toThrow('COUNT');
  expect(loadEnvironment(schema, { SECRET: 's', NAMES: '' }).NAMES).toEqual([]);
  expect(loadEnvironment(schema, { SECRET: 's', NAMES: ' a , b ' }).NAMES).toEqual(['a', 'b']);
});

test('a heartbeat comes three times in a session at least, and a request to one broker may take long', () => {
  const load = loadCommonConfig;
  expect(load({ KAFKA_SESSION_TIMEOUT_MS: '1500' }).kafka.heartbeatIntervalMs).toBe(500);
  expect(load({ KAFKA_SESSION_TIMEOUT_MS: '30000' }).kafka.heartbeatIntervalMs).toBe(1_000);
  expect(load({ KAFKA_BROKERS: 'a:1' }).kafka.requestTimeoutMs).toBe(40_000);
  expect(load({ KAFKA_BROKERS: 'a:1,b:2,c:3' }).kafka.requestTimeoutMs).toBe(5_000);
});

test('a system’s id precedes its names, and a malformed one ends the start', () => {
  const load = loadCommonConfig;
  const { kafka, redis } = load({ SYSTEM_ID: 'staging-2' });
  expect([kafka.prefix, redis.keyPrefix]).toEqual(['staging-2.', 'staging-2:']);
  const none = load({ SYSTEM_ID: '' });
  expect([none.kafka.prefix, none.redis.keyPrefix]).toEqual(['', undefined]);
  for (const SYSTEM_ID of ['Staging', 'a.b', 'a_b', ' ', 'ä', 'a'.repeat(33)])
    expect(() => load({ SYSTEM_ID })).toThrow(/SYSTEM_ID: must be/);
});

describe('how brokers and Redis are reached', () => {
  const common = (env: Record<string, string>) =>
    commonConfig(loadEnvironment(z.object(commonEnvironment), env));
  const login = { KAFKA_SASL_USERNAME: 'user', KAFKA_SASL_PASSWORD: 'hunter2' };
  const BEARER = { KAFKA_SASL_MECHANISM: 'oauthbearer', KAFKA_TLS: 'true' };
  const TOKEN_URL = 'https://idp.example/token';

  test('is in plain text and without a login unless it is said otherwise', () => {
    const { kafka, redis } = common({ KAFKA_TLS: '', KAFKA_SASL_MECHANISM: '', REDIS_TLS_CA_FILE: '' });
    expect(kafka).not.toHaveProperty('tls');
    expect(kafka).not.toHaveProperty('sasl');
    expect(redis).toEqual({ url: 'redis://localhost:6379' });
  });

  test('is TLS with the authorities of the system if no file is set', () => {
    const { kafka } = common({ KAFKA_TLS: 'true', KAFKA_SASL_MECHANISM: 'plain', ...login });
    expect(kafka).toMatchObject({
      tls: {},
      sasl: { mechanism: 'plain', username: 'user', password: 'hunter2' },
    });
  });

  test.each([
    ['a mechanism without a user', { KAFKA_SASL_MECHANISM: 'scram-sha-512' }, 'KAFKA_SASL_USERNAME'],
    ['a user without a mechanism', login, 'KAFKA_SASL_MECHANISM'],
    ['a password in plain text', { KAFKA_SASL_MECHANISM: 'plain', ...login }, 'KAFKA_TLS=true'],
    [
      'a token in plain text',
      { KAFKA_SASL_MECHANISM: 'oauthbearer', KAFKA_SASL_TOKEN: 'hunter2' },
      'KAFKA_TLS=true',
    ],
    ['a token for another mechanism', { KAFKA_SASL_TOKEN: 'hunter2' }, 'KAFKA_SASL_MECHANISM=oauthbearer'],
    ['no source of tokens', { ...BEARER }, 'KAFKA_SASL_TOKEN_FILE'],
    [
      'two sources of tokens',
      { ...BEARER, ...login, KAFKA_SASL_TOKEN: 'hunter2', KAFKA_SASL_TOKEN_URL: TOKEN_URL },
      'not both',
    ],
    [
      'a token URL without credentials',
      { ...BEARER, KAFKA_SASL_TOKEN_URL: TOKEN_URL },
      'KAFKA_SASL_USERNAME',
    ],
    [
      'extensions without a value',
      { ...BEARER, KAFKA_SASL_TOKEN: 'hunter2', KAFKA_SASL_EXTENSIONS: 'logicalCluster' },
      'KAFKA_SASL_EXTENSIONS',
    ],
    ['files of TLS without TLS', { KAFKA_TLS_CA_FILE: '/ca.pem' }, 'KAFKA_TLS=true'],
    [
      'a certificate without its key',
      { KAFKA_TLS: 'true', KAFKA_TLS_CERT_FILE: '/c.pem' },
      'KAFKA_TLS_KEY_FILE',
    ],
    [
      'a file that is not there',
      { KAFKA_TLS: 'true', KAFKA_TLS_CA_FILE: '/none' },
      'KAFKA_TLS_CA_FILE: cannot be read',
    ],
    [
      'a file that is not PEM',
      { KAFKA_TLS: 'true', KAFKA_TLS_CA_FILE: __filename },
      'KAFKA_TLS_CA_FILE: is not PEM',
    ],
    ['files of TLS for a Redis without it', { REDIS_TLS_CA_FILE: '/ca.pem' }, 'rediss://'],
  ])('is refused by name with %s', (_, env: Record<string, string>, named) => {
    expect(() => common(env)).toThrow(named);
    expect(() => common(env)).not.toThrow('hunter2');
  });
});

describe('a secret in a file', () => {
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-secrets-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const fileOf = (text: string) => {
    const file = join(dir, 'secret');
    writeFileSync(file, text);
    return file;
  };
  const marked = z.object({ SECRET: secret(z.string().min(3)), PLAIN: z.string().default('none') });

  test.each([
    ['hunter2\n', 'hunter2'],
    ['hunter2\r\n', 'hunter2'],
    [' hunter2\n\n', ' hunter2\n'],
    ['hunter2', 'hunter2'],
  ])('%j is read without its final line break', (text, value) => {
    expect(loadEnvironment(marked, { SECRET_FILE: fileOf(text), SECRET: '' }).SECRET).toBe(value);
  });

  test('is refused beside the variable, or if it cannot be read or is wrong, and no value is repeated', () => {
    const load = (env: Record<string, string>) => () => loadEnvironment(marked, env);
    const both = load({ SECRET: 'hunter2', SECRET_FILE: fileOf('hunter3') });
    expect(both).toThrow('SECRET, SECRET_FILE: set one of them');
    for (const value of ['hunter2', 'hunter3', dir]) expect(both).not.toThrow(value);
    expect(load({ SECRET_FILE: join(dir, 'absent') })).toThrow('SECRET_FILE: cannot be read (ENOENT)');
    expect(load({ SECRET_FILE: dir })).toThrow('SECRET_FILE: cannot be read (EISDIR)');
    expect(load({ SECRET_FILE: fileOf('x9') })).toThrow('SECRET');
    expect(load({ SECRET_FILE: fileOf('x9') })).not.toThrow('x9');
    expect(load({})).toThrow('SECRET: missing');
    expect(load({ SECRET_FILE: '' })).toThrow('SECRET: missing');
  });

  test('is not read for a variable that is no secret', () => {
    expect(loadEnvironment(marked, { SECRET: 'hunter2', PLAIN_FILE: '/absent' }).PLAIN).toBe('none');
  });

  test('as a token is read again for each login, and a file that is gone is named', async () => {
    const file = join(dir, 'token');
    writeFileSync(file, 'first\n');
    const { kafka } = commonConfig(
      loadEnvironment(z.object(commonEnvironment), {
        KAFKA_TLS: 'true',
        KAFKA_SASL_MECHANISM: 'oauthbearer',
        KAFKA_SASL_TOKEN_FILE: file,
        KAFKA_SASL_EXTENSIONS: 'logicalCluster=lkc-1, identityPoolId=pool=2',
      }),
    );
    const sent: string[] = [];
    const login = () => {
      if (kafka.sasl?.mechanism !== 'oauthbearer') throw new Error('not a login by a token');
      const saslAuthenticate = async ({ request }: { request: { encode: () => Buffer | Promise<Buffer> } }) =>
        void sent.push((await request.encode()).toString('latin1').replaceAll('\u0001', '|'));
      return kafka.sasl.authenticationProvider({ saslAuthenticate } as never).authenticate();
    };
    const rest = '|logicalCluster=lkc-1|identityPoolId=pool=2||';
    await login();
    writeFileSync(file, 'second\n');
    await login();
    expect(sent).toEqual(
      ['first', 'second'].map((token) => expect.stringContaining(`n,,|auth=Bearer ${token}${rest}`)),
    );
    rmSync(file);
    await expect(login()).rejects.toThrow('KAFKA_SASL_TOKEN_FILE: cannot be read (ENOENT)');
  });

  test('is read again for each login, and stays as it was while its file cannot be read', () => {
    const [password, url] = [join(dir, 'password'), join(dir, 'url')];
    writeFileSync(password, 'first\n');
    writeFileSync(url, 'redis://user:first@localhost\n');
    const { kafka, redis } = commonConfig(
      loadEnvironment(z.object(commonEnvironment), {
        KAFKA_SASL_MECHANISM: 'scram-sha-512',
        KAFKA_SASL_USERNAME: 'user',
        KAFKA_SASL_PASSWORD_FILE: password,
        REDIS_URL_FILE: url,
      }),
    );
    const logins = () => {
      if (kafka.sasl?.mechanism !== 'scram-sha-512') throw new Error('not a login by SCRAM');
      return [kafka.sasl.username, kafka.sasl.password, redis.readAgain?.()];
    };
    expect(redis.url).toBe('redis://user:first@localhost');
    expect(logins()).toEqual(['user', 'first', 'redis://user:first@localhost']);
    writeFileSync(password, 'second\n');
    writeFileSync(url, 'redis://user:second@localhost\n');
    expect(logins()).toEqual(['user', 'second', 'redis://user:second@localhost']);
    rmSync(password);
    rmSync(url);
    expect(logins()).toEqual(['user', 'second', 'redis://user:second@localhost']);
  });
});
