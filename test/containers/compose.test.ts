// The images are built and the whole compose file is started as an operator starts it, with real
// containers only. Checks of all modes arrive while it is scaled and restarted: its settings must
// be safe, and nothing may be lost.
import { globSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { describeLicences, productionPackages } from '../../deploy/docker/licences.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { demoRules } from '../support/builders/demo-rules.ts';
import { receiveWebhooks } from '../support/fakes/receive-webhooks.ts';
import { NO_FAULTS } from '../support/judges/ledger.ts';
import { reconcileUnderLoad } from '../support/judges/reconcile-under-load.ts';
import { spawnProgram } from '../support/systems/spawn-process.ts';
import { type ComposedSystem, startCompose, untilQuery } from './start-compose.ts';

/** Every folder of a service with a process is a service of the compose file, under the same
 * name. */
const SERVICES = globSync('services/*/main.ts').map((file) => basename(dirname(file)));

let system: ComposedSystem;
beforeAll(async () => {
  system = await startCompose();
});
afterAll(async () => system?.[Symbol.asyncDispose]());

type Inspected = {
  readonly State: { readonly Health?: { readonly Status: string }; readonly OOMKilled: boolean };
  readonly Config: { readonly User: string };
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean;
    readonly CapDrop: readonly string[] | null;
    readonly Memory: number;
    readonly NanoCpus: number;
    readonly SecurityOpt: readonly string[] | null;
  };
};

async function inspect(service: string): Promise<readonly Inspected[]> {
  const ids = (await system.compose('ps', '--quiet', service)).split('\n').filter(Boolean);
  return JSON.parse(await system.docker('inspect', ...ids)) as Inspected[];
}

const healthy = async (service: string): Promise<number> =>
  (await inspect(service)).filter(({ State }) => State.Health?.Status === 'healthy').length;

test.each([...SERVICES, 'chain'])(
  '%s runs healthy, without root rights, on a read-only file system',
  async (service) => {
    const [container] = await inspect(service);
    expect(container?.State.Health?.Status).toBe('healthy');
    expect(container?.Config.User).toBe('node');
    expect(container?.HostConfig).toMatchObject({
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges:true'],
    });
    expect(container?.HostConfig.Memory).toBeGreaterThan(0);
    expect(container?.HostConfig.NanoCpus).toBeGreaterThan(0);
  },
);

test('the image contains the packages that a service needs at runtime, and no development tool', async () => {
  const look =
    'for (const name of ["jest", "node", "solc", "typescript"]) if (fs.existsSync(`node_modules/${name}`)) console.log(name)';
  expect(await system.compose('exec', '-T', 'gateway', 'node', '-e', look)).toBe('');
  const tests = 'console.log(fs.globSync("{services,shared}/**/*.test.ts").length)';
  expect((await system.compose('exec', '-T', 'gateway', 'node', '-e', tests)).trim()).toBe('0');
});

test('the image of a release says its version and revision, and lists its parts and their licences', async () => {
  await using build = spawnProgram('npm', ['run', 'build:image']);
  const exitCode = await build.exited;
  expect([exitCode, exitCode === 0 ? '' : build.stderr()]).toEqual([0, '']);
  const image = `rolecall:${packageJson.version}`;
  const [{ Config }] = JSON.parse(await system.docker('inspect', image));
  expect(Config.Labels).toMatchObject({
    'org.opencontainers.image.title': 'Rolecall',
    'org.opencontainers.image.version': packageJson.version,
    'org.opencontainers.image.revision': expect.stringMatching(/^[0-9a-f]{40}$/),
    'org.opencontainers.image.licenses': packageJson.license,
  });
  const read = (file: string) => system.docker('run', '--rm', '--entrypoint', 'cat', image, file);
  const { components } = JSON.parse(await read('sbom.cdx.json')) as { components: { 'bom-ref': string }[] };
  expect(components.map((component) => component['bom-ref'])).toEqual(
    expect.arrayContaining(productionPackages().map(({ name, version }) => `${name}@${version}`)),
  );
  expect(await read('LICENCES.md')).toBe(describeLicences());
});

test('a check gets the same verdicts in a sync answer, by poll and by a signed webhook', async () => {
  const { chain, client, ready, receiverHost } = system;
  const { erc20, erc721, erc1155 } = demoRules(chain);
  const check = {
    account: chain.holder,
    rules: [
      erc20({ roleId: 'exact', minToken: '1500.5' }),
      erc20({ roleId: 'a unit more', minToken: '1500.500001' }),
      erc721({ tokenId: '2' }),
      erc1155({ tokenId: '7-8', minToken: '15' }),
    ],
  };
  const roles = [
    { id: 'exact', granted: true },
    { id: 'a unit more', granted: false },
    { id: 'erc721', granted: true },
    { id: 'erc1155', granted: true },
  ];
  expect(await client.check(check)).toMatchObject({ status: 200, body: { roles, errors: [] } });
  expect(await client.checkAndWait(check)).toMatchObject({ status: 200, body: { roles, errors: [] } });

  await using receiver = await receiveWebhooks({ secret: ready.app.webhookSecret, host: receiverHost });
  const accepted = await client.check({ ...check, callbackUrl: receiver.url });
  expect(accepted.status).toBe(202);
  const webhook = await receiver.waitFor(({ requestId }) => requestId === accepted.body.requestId);
  expect(webhook.verified).toBe(true);
  expect(JSON.parse(webhook.body)).toMatchObject({ roles, errors: [] });
});

test('the portal serves its page', async () => {
  const page = await fetch(system.portal);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toContain('text/html');
});

test('Prometheus scrapes every process, and all of its rules work', async () => {
  const up = await untilQuery(system.prometheus, 'up{job="rolecall"}', 'service', (values) =>
    SERVICES.every((service) => values.get(service) === 1),
  );
  expect([...up.keys()].sort()).toEqual([...SERVICES].sort());
  const response = await fetch(`${system.prometheus}/api/v1/rules`);
  const { data } = (await response.json()) as { data: { groups: { rules: { health: string }[] }[] } };
  const health = data.groups.flatMap(({ rules }) => rules.map((rule) => rule.health));
  expect(health.length).toBeGreaterThan(0);
  expect(health.filter((state) => state === 'err')).toEqual([]);
});

test('scaling from one evaluator to three and back under load loses nothing', async () => {
  const scale = (count: number) =>
    system.compose('up', '--detach', '--no-recreate', '--wait', '--scale', `evaluator=${count}`);
  const { faults, counts } = await reconcileUnderLoad(system, async () => {
    await scale(3);
    expect(await healthy('evaluator')).toBe(3);
    await scale(1);
    expect(await healthy('evaluator')).toBe(1);
  });
  expect(faults).toEqual(NO_FAULTS);
  expect(counts.undetermined).toBe(0);
});

test('a result survives a stop and start of all containers', async () => {
  const { chain, client } = system;
  const before = await client.checkAndWait({ account: chain.holder, rules: [demoRules(chain).erc20()] });
  const requestId = before.body.requestId ?? '';
  await system.compose('stop');
  await system.compose('up', '--detach', '--wait');
  const after = await client.poll(requestId);
  expect(after).toMatchObject({ status: 200, text: before.text });
  expect(await client.check({ account: chain.stranger, rules: [demoRules(chain).erc721()] })).toMatchObject({
    status: 200,
    body: { roles: [{ id: 'erc721', granted: false }] },
  });
});

test('no process was killed for lack of memory, and each one exits by itself on a stop', async () => {
  for (const service of SERVICES)
    for (const { State } of await inspect(service)) expect(State.OOMKilled).toBe(false);
  const ids = (await system.compose('ps', '--quiet', ...SERVICES)).split('\n').filter(Boolean);
  await system.compose('stop', ...SERVICES);
  const stopped = JSON.parse(await system.docker('inspect', ...ids)) as { State: { ExitCode: number } }[];
  expect(stopped.map(({ State }) => State.ExitCode)).toEqual(ids.map(() => 0));
});
