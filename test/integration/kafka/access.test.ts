import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } from 'kafkajs';
import { z } from 'zod';
import { commonConfig, commonEnvironment, type Environment, loadEnvironment } from '#shared/config.ts';
import { BATCH_PATH, RULE_SETS_PATH, WATCHES_PATH } from '#shared/contracts/paths.ts';
import { ALL_TOPICS, SOURCE_TOPICS } from '#shared/contracts/topics.ts';
import { connectKafka } from '#shared/kafka/connect.ts';
import { applyTopics } from '#shared/kafka/topics-admin.ts';
import { type RunningChain, startChain } from '../../../deploy/local/infrastructure/chain.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import {
  type Acl,
  aclsOf,
  adminAcls,
  KAFKA_ACCESS,
  SERVICES,
  type Service,
} from '../../../services/developer-portal/admin/access/kafka-access.ts';
import { adminRules, redisRulesOf } from '../../../services/developer-portal/admin/access/redis-access.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import { testContext } from '../../support/infrastructure/connections.ts';
import { type Certificates, makeCertificates } from '../../support/infrastructure/make-certificates.ts';
import {
  startSecureKafka,
  startSecureRedis,
  WITH_ACLS,
} from '../../support/infrastructure/start-secure-parts.ts';
import { makeCheckClient } from '../../support/systems/check-client.ts';
import { runAdmin } from '../../support/systems/run-admin.ts';
import { type SpawnedProcess, spawnNode } from '../../support/systems/spawn-process.ts';
import { makePortalClient } from '../../support/systems/start-portal.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: a broker and a Redis that refuse everything except what `admin access` prints for each
// service. The whole system runs on them, and no login can do what only others need.

const SYSTEM_ID = 'guarded';
const USERS = [...SERVICES, 'admin'] as const;
const REFUSED = /NOPERM|AUTHORIZATION_FAILED|not authorized/i;
const KEYS = `1:${Buffer.alloc(32, 7).toString('base64')}`;
const loginOf = (username: string) => ({ username, password: `secret of ${username}` });

const dir = mkdtempSync(join(tmpdir(), 'rolecall-access-'));
const stack = new AsyncDisposableStack();
const running = new Map<Service, SpawnedProcess>();
let certificates: Certificates;
let chain: RunningChain;
let kafka: Awaited<ReturnType<typeof startSecureKafka>>;
let redis: Awaited<ReturnType<typeof startSecureRedis>>;

beforeAll(async () => {
  certificates = makeCertificates(dir);
  const [chainPort = 0] = await findFreePorts(1);
  const users = USERS.map((user) => ({
    ...loginOf(user),
    rights: user === 'admin' ? adminRules(`${SYSTEM_ID}:`) : redisRulesOf(user, `${SYSTEM_ID}:`),
  }));
  // It alone may read the log of refusals.
  const judge = { ...loginOf('judge'), rights: ['~*', '&*', '+@all'] };
  [kafka, redis, chain] = await Promise.all([
    startSecureKafka(dir, certificates, USERS.map(loginOf), WITH_ACLS).then((part) => stack.use(part)),
    startSecureRedis(dir, certificates, [...users, judge]).then((part) => stack.use(part)),
    startChain({ port: chainPort }).then((part) => stack.use(part)),
  ]);
  writeFileSync(
    join(dir, 'chains.json'),
    JSON.stringify({
      chains: [
        {
          chainId: chain.chainId,
          name: 'Demo',
          nativeSymbol: 'ETH',
          blockTimeMs: 1_000,
          endpoints: [{ url: chain.rpc }],
        },
      ],
    }),
  );
  const config = commonConfig(
    loadEnvironment(z.object(commonEnvironment), { SYSTEM_ID, KAFKA_BROKERS: kafka.openBrokers }),
  );
  await using setUp = await connectKafka(config, 'test', testContext(), { mustHaveTopics: false });
  await applyTopics(setUp.admin, ALL_TOPICS);
  const acls = USERS.flatMap((user) =>
    (user === 'admin' ? adminAcls(`${SYSTEM_ID}.`) : aclsOf(user, `${SYSTEM_ID}.`)).flatMap((acl) =>
      entriesOf(user, acl),
    ),
  );
  await setUp.admin.createAcls({ acl: acls });
  // The broker makes them known behind the partitions of the new topics.
  await waitUntil('the ACLs to be in effect', async () => {
    const any = { resourceType: AclResourceTypes.ANY, operation: AclOperationTypes.ANY };
    const found = await setUp.admin.describeAcls({
      ...any,
      resourcePatternType: ResourcePatternTypes.ANY,
      permissionType: AclPermissionTypes.ANY,
    });
    return found.resources.flatMap((resource) => resource.acls).length === acls.length;
  });
});
afterAll(async () => {
  for (const each of running.values()) await each.kill('SIGTERM');
  await stack.disposeAsync();
  rmSync(dir, { recursive: true, force: true });
});

const entriesOf = (user: string, { resource, names, isPrefixed, operations }: Acl) =>
  operations.flatMap((operation) =>
    names.map((resourceName) => ({
      principal: `User:${user}`,
      host: '*',
      resourceName,
      resourceType: resource === 'topic' ? AclResourceTypes.TOPIC : AclResourceTypes.GROUP,
      resourcePatternType: isPrefixed ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
      operation: OPERATIONS[operation] ?? AclOperationTypes.UNKNOWN,
      permissionType: AclPermissionTypes.ALLOW,
    })),
  );
const OPERATIONS: Readonly<Record<string, AclOperationTypes>> = {
  All: AclOperationTypes.ALL,
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
  Delete: AclOperationTypes.DELETE,
  Describe: AclOperationTypes.DESCRIBE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
};

/** The settings of a process that logs in as this user. */
function environmentOf(user: string, over: Environment = {}): Record<string, string> {
  const { username, password } = loginOf(user);
  const { ca, clientCert, clientKey } = certificates;
  return {
    SYSTEM_ID,
    KAFKA_BROKERS: kafka.brokers,
    KAFKA_TLS: 'true',
    KAFKA_TLS_CA_FILE: ca,
    KAFKA_TLS_CERT_FILE: clientCert,
    KAFKA_TLS_KEY_FILE: clientKey,
    KAFKA_SASL_MECHANISM: 'plain',
    KAFKA_SASL_USERNAME: username,
    KAFKA_SASL_PASSWORD: password,
    REDIS_URL: redis.urlOf(loginOf(user)),
    REDIS_TLS_CA_FILE: ca,
    REDIS_TLS_CERT_FILE: clientCert,
    REDIS_TLS_KEY_FILE: clientKey,
    CHAINS_FILE: join(dir, 'chains.json'),
    ROLECALL_ID_KEYS: KEYS,
    ROLECALL_SECRET_KEYS: KEYS,
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_SCHEDULE_SCALE: '0.001',
    PORTAL_PASSWORD_COST: '10',
    HTTP_HOST: '127.0.0.1',
    HTTP_PORT: '0',
    OPS_HOST: '127.0.0.1',
    OPS_PORT: '0',
    LOG_LEVEL: 'info',
    ...(over as Record<string, string>),
  };
}

const configOf = (user: string) =>
  commonConfig(loadEnvironment(z.object(commonEnvironment), environmentOf(user)));

async function start(service: Service, over: Environment = {}): Promise<string> {
  const each = spawnNode([`services/${service}/main.ts`], environmentOf(service, over));
  running.set(service, each);
  await waitUntil(`${service} to be ready`, () => {
    if (each.child.exitCode !== null) throw new Error(each.stdout() + each.stderr());
    return each.stdout().includes('"msg":"ready"');
  });
  return `http://127.0.0.1:${/"httpPort":(\d+)/.exec(each.stdout())?.[1]}`;
}

const admin = (...args: readonly string[]) => runAdmin(args, { env: environmentOf('admin') });

async function refusalsOfRedis(): Promise<string[]> {
  const judge = new Redis(redis.urlOf(loginOf('judge')), {
    tls: {
      ca: readFileSync(certificates.ca),
      cert: readFileSync(certificates.clientCert),
      key: readFileSync(certificates.clientKey),
    },
  });
  const entries = (await judge.call('ACL', 'LOG', '128')) as string[][];
  await judge.call('ACL', 'LOG', 'RESET');
  judge.disconnect();
  return entries.map((entry) => {
    const facts = Object.fromEntries(entry.flatMap((name, i) => (i % 2 === 0 ? [[name, entry[i + 1]]] : [])));
    return `${facts['username']}: ${facts['reason']} ${facts['object']}`;
  });
}

test('the whole system starts, answers a check of each mode and delivers a webhook', async () => {
  await start('result-store');
  const created = await admin(
    'app',
    'create',
    '--email',
    'dev@example.com',
    '--name',
    'App',
    '--tier',
    'paid',
    '--approve',
  );
  expect(created).toMatchObject({ exitCode: 0 });
  const { apiKey, webhookSecret } = created.value as { apiKey: string; webhookSecret: string };
  await Promise.all((['evaluator', 'watcher', 'webhook-dispatcher'] as const).map((each) => start(each)));
  const url = await start('gateway');
  const portal = await start('developer-portal', { GATEWAY_URL: url });

  const client = makeCheckClient({ url, apiKey });
  const rules = [demoRules(chain).erc20()];
  const account = chain.holder;
  const granted = [{ id: 'erc20', granted: true }];
  expect((await client.check({ account, rules })).body).toMatchObject({ roles: granted });
  expect((await client.checkAndWait({ account, rules })).body).toMatchObject({ roles: granted });
  await using receiver = await receiveWebhooks({ secret: webhookSecret });
  let refusals = 1;
  // The first attempt fails, so that the webhook takes a retry topic.
  receiver.setAnswer(() => (refusals-- > 0 ? 500 : 204));
  const { body } = await client.check({ account, rules, callbackUrl: `${receiver.url}/check` });
  const webhook = await receiver.waitFor(
    ({ requestId, attempt }) => requestId === body.requestId && attempt === 2,
  );
  expect(webhook.verified).toBe(true);

  const { mustSend: call } = client;
  await call('PUT', `${RULE_SETS_PATH}/holders`, { rules });
  await call('PUT', `${WATCHES_PATH}/vip`, {
    ruleSet: 'holders',
    callbackUrl: `${receiver.url}/watch`,
    everySeconds: 86_400,
  });
  await call('POST', `${WATCHES_PATH}/vip/members`, { add: [{ account, ref: 'member:1' }] });
  await receiver.waitFor(({ path, body: text }) => path.endsWith('/watch') && text.includes('member:1'));
  const batch = await call('POST', BATCH_PATH, {
    ruleSet: 'holders',
    entries: [{ account, ref: 'member:1' }],
    callbackUrl: `${receiver.url}/batch`,
  });
  await receiver.waitFor(({ requestId }) => requestId === batch.requestId);
  await call('POST', `${WATCHES_PATH}/vip/release`);
  await call('POST', `${WATCHES_PATH}/vip/members`, { remove: ['member:1'] });
  await call('GET', '/access-control/deliveries');
  await call('GET', '/access-control/chains');

  const { value: operator } = await admin('account', 'operator', 'dev@example.com');
  const visitor = makePortalClient(portal, 'dev@example.com');
  const { password } = operator as { password: string };
  expect((await visitor.send('POST', '/api/sign-in', { email: visitor.email, password })).status).toBe(200);
  const { body: apps } = await visitor.get<{ clientId: string }[]>('/api/apps');
  const app = `/api/apps/${apps[0]?.clientId}`;
  expect((await visitor.get(`${app}/checks/${body.requestId}`)).status).toBe(200);
  expect((await visitor.get(`${app}/checks/${body.requestId}/request`)).status).toBe(200);
  expect((await visitor.get(`${app}/deliveries/${body.requestId}`)).status).toBe(200);
  expect((await visitor.send('POST', `${app}/keys`, { name: 'second' })).status).toBe(201);

  expect((await admin('store', 'rebuild')).exitCode).toBe(0);
  expect((await client.check({ account, rules })).body).toMatchObject({ roles: granted });
  expect((await admin('status')).exitCode).toBe(0);
  expect(await refusalsOfRedis()).toEqual([]);
  for (const [service, { stdout }] of running) {
    const refused = stdout()
      .split('\n')
      .filter((line) => REFUSED.test(line));
    expect({ service, refused }).toEqual({ service, refused: [] });
  }
});

test.each(SERVICES)('%s may write to its own topics alone', async (service) => {
  const allowed = new Set(KAFKA_ACCESS[service].writes.map(({ name }) => name));
  const others = SOURCE_TOPICS.filter(({ name }) => !allowed.has(name));
  await using connection = await connectKafka(configOf(service), 'test', testContext());
  const outcomes = await Promise.allSettled(
    others.map(({ name }) => connection.publishRecord(name, { key: 'roll', value: null })),
  );
  expect(others.filter((_, i) => outcomes[i]?.status === 'fulfilled').map(({ name }) => name)).toEqual([]);
  expect(others.length).toBeGreaterThan(5);
});

test.each(SERVICES.filter((service) => KAFKA_ACCESS[service].reads.length === 0))(
  '%s may read no topic outside of its groups',
  async (service) => {
    await using connection = await connectKafka(configOf(service), 'test', testContext());
    const topic = SOURCE_TOPICS.find(({ name }) => name === 'account.v1')?.name ?? '';
    const read = connection.readTopic({ topic, apply: async () => undefined });
    await expect(read).rejects.toThrow(REFUSED);
  },
);
