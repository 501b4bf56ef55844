import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { commonConfig, commonEnvironment, type Environment, loadEnvironment } from '#shared/config.ts';
import { type CheckCompleted, checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { ALL_TOPICS } from '#shared/contracts/topics.ts';
import { connectKafka } from '#shared/kafka/connect.ts';
import { applyTopics } from '#shared/kafka/topics-admin.ts';
import { connectRedis } from '#shared/redis/connect.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeResults, replyChannelOf } from '#shared/stores/checks/results.ts';
import { aCheckCompleted } from '../../support/builders/a-check-completed.ts';
import { aCheckResult } from '../../support/builders/a-check-result.ts';
import { testContext } from '../../support/infrastructure/connections.ts';
import { type Certificates, makeCertificates } from '../../support/infrastructure/make-certificates.ts';
import {
  addScramLogin,
  startSecureKafka,
  startSecureRedis,
} from '../../support/infrastructure/start-secure-parts.ts';
import { spawnNode } from '../../support/systems/spawn-process.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: a broker that accepts only TLS with a login, and a Redis that accepts only TLS with a
// restricted user. Services work with both. A client without the authority, the certificate or the
// password is refused with the reason.

const KAFKA_LOGIN = { username: 'rolecall', password: 'kafka-secret' };
const REDIS_LOGIN = { username: 'rolecall', password: 'redis: secret/@' };
const REDIS_RIGHTS = ['~*', '&*', '+@all', '-@admin', '-@dangerous', '+info'];
const dir = mkdtempSync(join(tmpdir(), 'rolecall-secure-'));
let certificates: Certificates;
let secure: Record<string, string>;
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  certificates = makeCertificates(dir);
  const [kafka, redis] = await Promise.all([
    startSecureKafka(dir, certificates, [KAFKA_LOGIN]).then((part) => stack.use(part)),
    startSecureRedis(dir, certificates, [{ ...REDIS_LOGIN, rights: REDIS_RIGHTS }]).then((part) =>
      stack.use(part),
    ),
  ]);
  addScramLogin(kafka.openBrokers, KAFKA_LOGIN);
  const { ca, clientCert, clientKey } = certificates;
  secure = {
    KAFKA_BROKERS: kafka.brokers,
    KAFKA_TLS: 'true',
    KAFKA_TLS_CA_FILE: ca,
    KAFKA_TLS_CERT_FILE: clientCert,
    KAFKA_TLS_KEY_FILE: clientKey,
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: KAFKA_LOGIN.username,
    KAFKA_SASL_PASSWORD: KAFKA_LOGIN.password,
    REDIS_URL: redis.urlOf(REDIS_LOGIN),
    REDIS_TLS_CA_FILE: ca,
    REDIS_TLS_CERT_FILE: clientCert,
    REDIS_TLS_KEY_FILE: clientKey,
    LOG_LEVEL: 'info',
    OPS_HOST: '127.0.0.1',
    OPS_PORT: '0',
    DEPENDENCY_WAIT_MS: '120000',
  };
  const config = configOf({});
  await using connection = await connectKafka(config, 'test', testContext(), { mustHaveTopics: false });
  await applyTopics(connection.admin, ALL_TOPICS);
});
afterAll(async () => {
  await stack.disposeAsync();
  rmSync(dir, { recursive: true, force: true });
});

/** The settings of a service, some of them changed; `undefined` removes one. */
const configOf = (over: Environment) =>
  commonConfig(loadEnvironment(z.object(commonEnvironment), { ...secure, ...over }));

const aMessage = (requestId: string): CheckCompleted =>
  aCheckCompleted('app_1', {
    requestId,
    resultJson: aCheckResult({ requestId }),
  });

/** For a connection that is never made. */
const REFUSED_SOON = { DEPENDENCY_WAIT_MS: '2000' } as const;

const kafkaOf = (over: Environment) => connectKafka(configOf(over), 'test', testContext());
const redisOf = (over: Environment) => {
  const config = configOf(over);
  return connectRedis({ ...config, ...config.redis }, testContext());
};

test.each(['plain', 'scram-sha-512'])(
  'a message is published and consumed over TLS with a login by %s',
  async (mechanism) => {
    await using kafka = await kafkaOf({ KAFKA_SASL_MECHANISM: mechanism });
    const received: string[] = [];
    await using _consumer = await kafka.consume({
      groupId: `secure-${mechanism}`,
      topics: [checkCompleted],
      window: 10,
      handle: async ({ requestId }) => void received.push(requestId),
    });
    const message = aMessage(mechanism);
    await kafka.publish(checkCompleted, message);
    await waitUntil('the message', () => received.includes(message.requestId));
  },
);

test('results are saved and notices received through a Redis with TLS and a restricted user', async () => {
  await using store = await redisOf({});
  await store.redis.set(GENERATION_KEY, 'test');
  const subscriber = await store.subscriber();
  const heard: string[] = [];
  subscriber.on('message', (_channel: string, message: string) => heard.push(message));
  const replyChannel = replyChannelOf('test');
  await subscriber.subscribe(replyChannel);
  const retainUntil = Date.now() + 3_600_000;
  await makeResults(store.redis).saveIfAbsent({
    requestId: 'r1',
    resultJson: '{}',
    acceptedAtMs: Date.now(),
    retainUntil,
    replyChannel,
  });
  await waitUntil('the notice', () => heard.includes('r1 {}'));
  await expect(store.redis.flushall()).rejects.toThrow('NOPERM');
});

test.each([
  ['a foreign authority', () => ({ KAFKA_TLS_CA_FILE: certificates.strangerCa })],
  ['no client certificate', () => ({ KAFKA_TLS_CERT_FILE: undefined, KAFKA_TLS_KEY_FILE: undefined })],
  ['a wrong password', () => ({ KAFKA_SASL_PASSWORD: 'wrong' })],
  ['no login', () => ({ KAFKA_SASL_MECHANISM: '', KAFKA_SASL_USERNAME: '', KAFKA_SASL_PASSWORD: '' })],
])('the broker refuses a client with %s', async (_, over) => {
  await expect(kafkaOf({ ...over(), ...REFUSED_SOON })).rejects.toMatchObject({ code: 'broker-unavailable' });
});

test.each([
  ['a foreign authority', () => ({ REDIS_TLS_CA_FILE: certificates.strangerCa })],
  ['no client certificate', () => ({ REDIS_TLS_CERT_FILE: undefined, REDIS_TLS_KEY_FILE: undefined })],
  ['a wrong password', () => ({ REDIS_URL: secure['REDIS_URL']?.replace('%40', 'x') })],
])('Redis refuses a client with %s', async (_, over) => {
  await expect(redisOf({ ...over(), ...REFUSED_SOON })).rejects.toMatchObject({ code: 'store-unavailable' });
});

test('a login in a file is read again for each connection', async () => {
  const [passwordFile, urlFile] = [join(dir, 'kafka-password'), join(dir, 'redis-url')];
  const rightUrl = String(secure['REDIS_URL']);
  writeFileSync(passwordFile, 'wrong');
  writeFileSync(urlFile, `${rightUrl}\n`);
  const config = configOf({
    KAFKA_SASL_PASSWORD: undefined,
    KAFKA_SASL_PASSWORD_FILE: passwordFile,
    REDIS_URL: undefined,
    REDIS_URL_FILE: urlFile,
  });
  writeFileSync(passwordFile, `${KAFKA_LOGIN.password}\n`);
  await using kafka = await connectKafka(config, 'test', testContext());
  await kafka.publish(checkCompleted, aMessage('by a file'));

  await using store = await connectRedis({ ...config, ...config.redis }, testContext());
  const refused = new Promise<void>((resolve) => {
    store.redis.on('error', ({ message }: Error) => message.includes('WRONGPASS') && resolve());
  });
  writeFileSync(urlFile, rightUrl.replace('%40', 'x'));
  store.redis.disconnect(true);
  await refused;
  writeFileSync(urlFile, rightUrl);
  await waitUntil('the right login', () => store.redis.ping().catch(() => undefined));
});

test('a service starts, works and stops over both connections', async () => {
  await using service = spawnNode(['services/result-store/main.ts'], secure);
  await waitUntil('the service to be ready', () => {
    if (service.child.exitCode !== null) throw new Error(service.stdout() + service.stderr());
    return service.stdout().includes('"msg":"ready"');
  });
  await using kafka = await kafkaOf({});
  await using store = await redisOf({});
  const message = aMessage('by a service');
  await kafka.publish(checkCompleted, message);
  const results = makeResults(store.redis);
  expect(await waitUntil('the result', () => results.read(message.requestId))).toBe(message.resultJson);
  expect(await service.kill('SIGTERM')).toBe(0);
  const said = service.stdout() + service.stderr();
  for (const secret of [KAFKA_LOGIN.password, REDIS_LOGIN.password, encodeURIComponent(REDIS_LOGIN.password)])
    expect(said).not.toContain(secret);
});

test('a service with a wrong password exits, names the server that refused it, and does not log the password', async () => {
  await using service = spawnNode(['services/result-store/main.ts'], {
    ...secure,
    // Long enough for one whole attempt on a busy machine.
    DEPENDENCY_WAIT_MS: '6000',
    KAFKA_SASL_PASSWORD: 'hunter2',
  });
  expect(await service.exited).toBe(1);
  const said = service.stdout() + service.stderr();
  expect(said).toContain('authentication failed');
  expect(said).not.toContain('hunter2');
});
