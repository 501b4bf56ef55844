// Processes of a system are killed, and the whole of it is ended in the middle of its work and started
// again with the same data: every accepted check is answered. Its names have a prefix, and processes
// that find another Redis stay out of it, as does a second start. No process outlives the starter.
import { rmSync } from 'node:fs';
import { z } from 'zod';
import { commonConfig, commonEnvironment, loadEnvironment } from '#shared/config.ts';
import { connectKafka } from '#shared/kafka/connect.ts';
import { connectRedis } from '#shared/redis/connect.ts';
import { readSystemFile } from '../../../deploy/local/system/system-file.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { testContext } from '../../support/infrastructure/connections.ts';
import { makeDataDir } from '../../support/infrastructure/make-data-dir.ts';
import { findSecrets } from '../../support/judges/find-secrets.ts';
import { NO_FAULTS } from '../../support/judges/ledger.ts';
import { reconcileUnderLoad } from '../../support/judges/reconcile-under-load.ts';
import { makeCheckClient } from '../../support/systems/check-client.ts';
import { spawnNode } from '../../support/systems/spawn-process.ts';
import {
  findFreeBase,
  identityOf,
  processesOf,
  runningOf,
  type StartedSystem,
  spawnStarter,
  startSystem,
  untilGone,
} from '../../support/systems/start-system.ts';
import { waitUntil } from '../../support/wait-until.ts';

const dataDir = makeDataDir('restart');
let system: StartedSystem;
beforeAll(async () => {
  system = await startSystem({ dataDir, env, args });
});
afterAll(async () => {
  await system?.[Symbol.asyncDispose]();
  rmSync(dataDir, { recursive: true, force: true });
});

/** On a busy machine an answer to a webhook may be late: it is waited for instead of sent again,
 * also by a stop. */
const env = {
  SYSTEM_ID: 'test-1',
  LOG_LEVEL: 'debug',
  WEBHOOK_ATTEMPT_TIMEOUT_MS: '60000',
  SHUTDOWN_TIMEOUT_MS: '90000',
  // A delivery that a crash interrupted is tried again within the suite.
  WEBHOOK_SCHEDULE_SCALE: '0.01',
};
/** With processes that take over from each other. */
const args = ['--gateways', '2', '--evaluators', '2'];
const check = () => ({ account: system.chain.holder, rules: [demoRules(system.chain).erc20()] });
/** Another start on the same data and ports has the same ready line but for the process ids. */
async function restart(): Promise<void> {
  const facts = ({ processes: _, ...rest }: StartedSystem['ready']) => rest;
  const { ready, portBase } = system;
  system = await startSystem({ dataDir, portBase, env, args });
  expect(facts(system.ready)).toEqual(facts(ready));
}
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Ends the system in the middle of its work and starts it again with the same data. */
const restartUnderLoad = (end: () => Promise<void>) =>
  reconcileUnderLoad(system, async (load) => {
    await end();
    await load.stop();
    await restart();
  });

const allPids = (): number[] => [
  ...system.ready.processes.map(({ pid }) => pid),
  ...['kafka', 'redis', 'chain'].flatMap((service) => system.pidsOf(service)),
  system.starterPid,
];

test.each(['evaluator', 'result-store', 'webhook-dispatcher', 'gateway'])(
  'kill -9 of a %s process under load loses nothing',
  async (service) => {
    const { gateways, app } = system.ready;
    const clients = gateways.map((url) => makeCheckClient({ url, ...app }));
    const { faults, counts } = await reconcileUnderLoad(system, () => system.kill(service), clients);
    expect(faults).toEqual(NO_FAULTS);
    expect(counts.undetermined).toBe(0);
  },
);

test('SIGTERM under load loses nothing, exits 0 and leaves no process behind', async () => {
  const earlier = await system.client.check(check());
  const { faults, counts } = await restartUnderLoad(async () => {
    const pids = allPids();
    expect(await system.stop()).toBe(0);
    expect(pids.filter(isAlive)).toEqual([]);
  });
  expect(faults).toEqual(NO_FAULTS);
  expect(counts.undetermined).toBe(0);
  // A clean stop repeats nothing.
  expect(counts.duplicates).toBe(0);
  const again = await system.client.poll(earlier.body.requestId ?? '');
  expect(again.text).toBe(earlier.text);
});

test('kill -9 of every process at once under load loses nothing that was acknowledged', async () => {
  const { faults } = await restartUnderLoad(async () => {
    const pids = allPids();
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await waitUntil('all of them to be gone', () => !pids.some(isAlive));
  });
  expect(faults).toEqual(NO_FAULTS);
});

/** Connections without the prefix of the system, to this Redis database. */
async function connectPlainly(scope: AsyncDisposableStack, database: number) {
  const variables = {
    ...system.environment(),
    SYSTEM_ID: '',
    REDIS_URL: `${system.ready.redis}/${database}`,
  };
  const config = commonConfig(loadEnvironment(z.object(commonEnvironment), variables));
  const kafka = await connectKafka(config, 'test', testContext(), { mustHaveTopics: false });
  const { redis } = scope.use(await connectRedis({ ...config, ...config.redis }, testContext()));
  return { admin: scope.use(kafka).admin, redis };
}

test('every topic, group and key of the system has its prefix', async () => {
  await using scope = new AsyncDisposableStack();
  const { admin, redis } = await connectPlainly(scope, 0);
  const { groups } = await admin.listGroups();
  const names = [...(await admin.listTopics()), ...groups.map(({ groupId }) => groupId)];
  expect(names).toContain('test-1.check.completed.v1');
  expect(names).toContain('test-1.result-store');
  expect(names.filter((name) => !name.startsWith('test-1.') && !name.startsWith('__'))).toEqual([]);
  const keys = await redis.keys('*');
  expect(keys).toContain('test-1:system:kafka');
  // The connection of this test belongs to no system, and has noted the run of Redis.
  const others = keys.filter((key) => !key.startsWith('test-1:'));
  expect(others.toSorted()).toEqual(['nonces-not-before', 'view:run']);
});

const CONSUMERS = ['result-store', 'evaluator', 'watcher', 'webhook-dispatcher'];

test('a process with another Redis, empty or of another system, joins no group and says why', async () => {
  await using scope = new AsyncDisposableStack();
  const start = (service: string, database: number) =>
    scope.use(
      spawnNode([`services/${service}/main.ts`], {
        ...system.environment(),
        REDIS_URL: `${system.ready.redis}/${database}`,
        OPS_HOST: '127.0.0.1',
        OPS_PORT: '0',
      }),
    );
  const { redis } = await connectPlainly(scope, 6);
  await redis.set('test-1:system:kafka', 'another-cluster');
  const refused = [
    ...CONSUMERS.map((service) => ({ child: start(service, 5), because: 'another Redis than the one' })),
    ...CONSUMERS.map((service) => ({ child: start(service, 6), because: 'name two systems' })),
  ];
  for (const { child, because } of refused) {
    expect(await child.exited).toBe(1);
    expect(child.stdout()).toContain(because);
    expect(child.stdout()).not.toContain('joined consumer group');
  }
  const { status } = await system.client.check(check());
  expect(status).toBe(200);
});

test('a second system on the same directory is refused by the name of the first, which keeps running', async () => {
  await using second = spawnStarter({ portBase: await findFreeBase(), data: system.dataDir });
  expect(await second.exited).toBe(1);
  expect(second.stderr()).toMatch(/a system already runs in .* \(process \d+\)/);
  expect(second.stdout()).toBe('');
  const answer = await system.client.check(check());
  expect(answer.status).toBe(200);
});

test('all ports in use are named with their purpose, and nothing is started', async () => {
  const data = makeDataDir('stack');
  await using second = spawnStarter({ portBase: system.portBase, data });
  expect(await second.exited).toBe(1);
  for (const what of ['Kafka', 'Redis', 'the demo chain', 'gateway', 'evaluator, ops'])
    expect(second.stderr()).toMatch(new RegExp(`\\d+ \\(${what}`));
  expect(readSystemFile(data)).toBeUndefined();
  rmSync(data, { recursive: true, force: true });
});

test('a killed chain comes back with the same contracts, and checks continue', async () => {
  const before = await system.client.check(check());
  await system.kill('chain');
  const after = await waitUntil('a decided check', async () => {
    const answer = await system.client.check(check());
    // No rule is decided until the contracts are deployed again, and a retry would not help: 200
    // `failed`.
    return answer.status === 200 && answer.body.status === 'completed' && answer;
  });
  expect(after.body.roles).toEqual(before.body.roles);
});

test('the operator’s command finds the new process of a part that was killed', async () => {
  const [before] = system.pidsOf('result-store');
  await system.kill('result-store');
  const { value } = await system.admin('status');
  const { processes } = value as { processes: { service: string; pid: number; ops: string | null }[] };
  const after = processes.find(({ service }) => service === 'result-store');
  expect(after?.pid).not.toBe(before);
  expect(
    processes
      .filter(({ ops }) => ops === null)
      .map(({ service }) => service)
      .sort(),
  ).toEqual(['chain', 'kafka', 'redis']);
});

test('the logs of the whole run contain none of the used secrets', () => {
  expect(findSecrets(system)).toEqual([]);
});

test('every process ends when the starter is killed -9, and the next start continues with its directory', async () => {
  const { dataDir: data, portBase } = system;
  const before = processesOf(data);
  expect(before.length).toBeGreaterThan(8);
  process.kill(system.starterPid, 'SIGKILL');
  await untilGone(before);

  // The system becomes ready with fewer processes too, as long as the gateway runs.
  const none = ['--evaluators', '0', '--result-stores', '0', '--dispatchers', '0'];
  await using starter = spawnStarter({ portBase, data, args: none }, env);
  const line = await waitUntil('the ready line', () => starter.stdout().includes('\n') && starter.stdout());
  expect(JSON.parse(line)).toMatchObject({ event: 'ready', app: system.ready.app });
  const processes = [...processesOf(data), identityOf(starter)];
  // The launcher passes SIGINT on, as it must when only npm's process gets the signal.
  expect(await starter.kill('SIGINT')).toBe(0);
  expect(runningOf(processes)).toEqual([]);
  expect(starter.stdout().trim().split('\n')).toHaveLength(1);
});
