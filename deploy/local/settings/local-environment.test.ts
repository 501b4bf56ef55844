import { readFileSync } from 'node:fs';
import { readSecret } from '#shared/config.ts';
import { DemoChain } from '#shared/contracts/demo-chain.ts';
import { publicRingOf } from '#shared/proof-keys.ts';
import { environmentOf, operatorEnvironment, planEnvironment } from './local-environment.ts';
import { parseOptions } from './options.ts';
import { planPorts } from './plan-ports.ts';

const ports = planPorts(parseOptions(['--port-base', '20000'], () => {}));
const secrets = {
  app: { clientId: 'app_1', apiKey: 'rck_live_1', webhookSecret: 'whsec_1' },
  operator: { email: 'operator@localhost', password: 'p' },
  idKeys: '1:id',
  secretKeys: '1:secret',
  proofKeys: `1:${Buffer.alloc(32, 1).toString('base64')}`,
};
const plan = (env: Record<string, string>, hasDemoChain = true) =>
  planEnvironment(env, ports, secrets, { file: '/data/chains.json', hasDemoChain });
const environmentFor = (service: string, env: Record<string, string> = {}) => {
  const planned = ports.processes.find((process) => process.service === service);
  if (!planned) throw new Error(`no ${service}`);
  return environmentOf(planned, plan(env));
};

test('every process finds this broker, this store, these chains and its own ports', () => {
  expect(environmentFor('gateway')).toMatchObject({
    KAFKA_BROKERS: '127.0.0.1:20002',
    REDIS_URL: 'redis://127.0.0.1:20004',
    CHAINS_FILE: '/data/chains.json',
    HTTP_HOST: '127.0.0.1',
    HTTP_PORT: '20000',
    OPS_HOST: '127.0.0.1',
    OPS_PORT: '20040',
  });
  expect(environmentFor('evaluator')).toMatchObject({ OPS_PORT: '20041' });
});

test('gateway and portal get the demo wallets where there is a demo chain', () => {
  const demo = environmentFor('developer-portal')['DEMO_CHAIN'];
  expect(environmentFor('gateway')['DEMO_CHAIN']).toBe(demo);
  expect(JSON.parse(demo ?? '')).toMatchObject({ chainId: 31_337, holder: expect.stringMatching(/^0x/) });
  expect(plan({}, false).common).not.toHaveProperty('DEMO_CHAIN');
});

test('docker-compose.yml names the same demo chain', () => {
  const [, json = ''] =
    /DEMO_CHAIN: &\S+ >-\n\s+(\{.*\})/.exec(readFileSync('docker-compose.yml', 'utf8')) ?? [];
  const demo = DemoChain.parse(JSON.parse(environmentFor('gateway')['DEMO_CHAIN'] ?? ''));
  expect(JSON.parse(json)).toEqual(demo);
});

test('a key reaches only the processes that need it, also when the environment brings it', () => {
  const env = { ROLECALL_SECRET_KEYS: '2:mine' };
  expect(environmentFor('gateway', env)).toMatchObject({ ROLECALL_ID_KEYS: '1:id' });
  expect(environmentFor('gateway', env)).not.toHaveProperty('ROLECALL_SECRET_KEYS');
  expect(environmentFor('webhook-dispatcher', env)).toMatchObject({ ROLECALL_SECRET_KEYS: '2:mine' });
  expect(environmentFor('webhook-dispatcher', env)).not.toHaveProperty('ROLECALL_ID_KEYS');
  const keysOf = (service: string) =>
    Object.keys(environmentFor(service, env)).filter((name) => name.startsWith('ROLECALL_'));
  expect(keysOf('evaluator')).toEqual(['ROLECALL_PROOF_KEYS']);
  expect(keysOf('result-store')).toEqual([]);
});

test('the gateway knows the public halves of the keys that the evaluator signs with, and nothing more', () => {
  const env = { ROLECALL_PROOF_KEYS: `7:${Buffer.alloc(32, 7).toString('base64')}` };
  expect(environmentFor('evaluator', env)).toMatchObject(env);
  const gateway = environmentFor('gateway', env);
  expect(gateway).toMatchObject({ ROLECALL_PROOF_PUBLIC_KEYS: publicRingOf(env.ROLECALL_PROOF_KEYS) });
  expect(gateway).not.toHaveProperty('ROLECALL_PROOF_KEYS');
  expect(environmentFor('gateway', { ROLECALL_PROOF_KEYS: '' })).toMatchObject({
    ROLECALL_PROOF_PUBLIC_KEYS: '',
  });
});

test('the environment overrides any setting, and an empty value counts', () => {
  const env = { WEBHOOK_ALLOWED_CIDRS: '', SYNC_DEADLINE_MS: '5000', KAFKA_SESSION_TIMEOUT_MS: '9000' };
  expect(environmentFor('gateway', env)).toMatchObject(env);
});

test('the environment cannot override the ports of a process', () => {
  expect(environmentFor('gateway', { HTTP_PORT: '1', OPS_PORT: '1' })).toMatchObject({
    HTTP_PORT: '20000',
    OPS_PORT: '20040',
  });
});

test('a setting that opens something on this machine is a warning, unless the environment decides it', () => {
  expect(plan({}).warnings.join('\n')).toMatch(/WEBHOOK_ALLOWED_CIDRS=127.*\n.*WEBHOOK_ALLOW_HTTP=true/);
  expect(plan({ WEBHOOK_ALLOWED_CIDRS: '', WEBHOOK_ALLOW_HTTP: 'false' }).warnings).toEqual([]);
});

test('a broker of the environment is used, with a warning that does not repeat where it is', () => {
  const { warnings } = plan({ REDIS_URL: 'redis://:hush@elsewhere' });
  expect(warnings.join('\n')).toContain('REDIS_URL comes from the environment');
  expect(warnings.join('\n')).not.toContain('hush');
});

test("the operator's command uses this system's secrets, whatever files its shell names", () => {
  const shell = { REDIS_URL_FILE: '/run/redis', ROLECALL_SECRET_KEYS_FILE: '/run/keys' };
  const env = { ...shell, ...operatorEnvironment(plan({}), ports) };
  expect(readSecret(env, 'REDIS_URL')).toBe('redis://127.0.0.1:20004');
  expect(readSecret(env, 'ROLECALL_SECRET_KEYS')).toBe('1:secret');
});

test("the operator's command reads the file that holds the address of the store", () => {
  const started = operatorEnvironment(plan({ REDIS_URL_FILE: '/dev/null' }), ports);
  expect(started).toMatchObject({ REDIS_URL: '', REDIS_URL_FILE: '/dev/null' });
});
