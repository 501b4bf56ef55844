import { readSecret } from '#shared/config.ts';
import { publicRingOf } from '#shared/proof-keys.ts';
import { demoTokens } from '../demo/demo-tokens.ts';
import { LOCAL_CHAIN_ID } from '../infrastructure/chain.ts';
import type { LocalChains } from '../infrastructure/local-chains.ts';
import { SERVICES, serviceOf } from '../system/services.ts';
import type { LocalSecrets } from './local-secrets.ts';
import type { PlannedProcess, PortPlan } from './plan-ports.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Loopback receivers over plain http: for a demo, never for production. */
const LOCAL_ONLY = { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8,::1/128', WEBHOOK_ALLOW_HTTP: 'true' } as const;

const LOCAL_DEFAULTS = {
  HTTP_HOST: '127.0.0.1',
  OPS_HOST: '127.0.0.1',
  KAFKA_SESSION_TIMEOUT_MS: '3000',
  ...LOCAL_ONLY,
} as const;

const KEY_VARIABLES = [...new Set(SERVICES.flatMap(({ keys }) => [...keys]))];

export type LocalEnvironment = {
  /** The environment of every service: no keys. */
  readonly common: Environment;
  readonly keys: Readonly<Record<(typeof KEY_VARIABLES)[number], string>>;
  /** Warnings: settings that open something here, and settings that the environment has
   * overridden. */
  readonly warnings: readonly string[];
};

/**
 * The environment of the services: this system's own settings, and over them the user's. An empty
 * value counts as set. Only the ports are always ours, since each process has others.
 */
export function planEnvironment(
  env: Environment,
  ports: PortPlan,
  secrets: LocalSecrets,
  { file: chainsFile, hasDemoChain }: LocalChains,
): LocalEnvironment {
  const wiring = {
    KAFKA_BROKERS: `127.0.0.1:${ports.kafka}`,
    REDIS_URL: `redis://127.0.0.1:${ports.redis}`,
    CHAINS_FILE: chainsFile,
    ...(hasDemoChain && { DEMO_CHAIN: JSON.stringify({ chainId: LOCAL_CHAIN_ID, ...demoTokens }) }),
    GATEWAY_URL: `http://127.0.0.1:${ports.processes.find(({ service }) => service === 'gateway')?.httpPort}`,
  };
  const common: Record<string, string | undefined> = {
    ...wiring,
    ...LOCAL_DEFAULTS,
    ...env,
    CHAINS_FILE: chainsFile,
  };
  if (env['REDIS_URL_FILE'] && env['REDIS_URL'] === undefined) delete common['REDIS_URL'];
  for (const name of KEY_VARIABLES) {
    delete common[name];
    delete common[`${name}_FILE`];
  }
  const proofKeys = readSecret(env, 'ROLECALL_PROOF_KEYS') ?? secrets.proofKeys;
  const overridden = (['KAFKA_BROKERS', 'REDIS_URL'] as const).filter(
    (name) => readSecret(env, name) !== undefined,
  );
  return {
    common,
    keys: {
      ROLECALL_ID_KEYS: readSecret(env, 'ROLECALL_ID_KEYS') ?? secrets.idKeys,
      ROLECALL_SECRET_KEYS: readSecret(env, 'ROLECALL_SECRET_KEYS') ?? secrets.secretKeys,
      ROLECALL_PROOF_KEYS: proofKeys,
      ROLECALL_PROOF_PUBLIC_KEYS:
        env['ROLECALL_PROOF_PUBLIC_KEYS'] ?? (proofKeys === '' ? '' : publicRingOf(proofKeys)),
    },
    warnings: [
      ...Object.keys(LOCAL_ONLY)
        .filter((name) => env[name] === undefined)
        .map((name) => `${name}=${common[name]}: for this machine only`),
      ...overridden.map(
        (name) => `${name} comes from the environment, so the services do not use the local one`,
      ),
    ],
  };
}

/** The environment of one process. */
export function environmentOf(process: PlannedProcess, { common, keys }: LocalEnvironment): Environment {
  const own = serviceOf(process.service).keys.map((name) => [name, keys[name]]);
  return {
    ...common,
    ...Object.fromEntries(own),
    OPS_PORT: String(process.opsPort),
    ...(process.httpPort !== undefined && { HTTP_PORT: String(process.httpPort) }),
  };
}

/**
 * The environment that leads the operator's command to this system. It overrides all that could
 * lead elsewhere: the command may run in a shell with the files of secrets.
 */
export function operatorEnvironment(
  { common, keys }: LocalEnvironment,
  ports: PortPlan,
): Record<string, string> {
  const names = ['SYSTEM_ID', 'KAFKA_BROKERS', 'REDIS_URL', 'REDIS_URL_FILE', 'CHAINS_FILE'] as const;
  const portal = ports.processes.find(({ service }) => service === 'developer-portal');
  return {
    ...Object.fromEntries(names.map((name) => [name, common[name] ?? ''])),
    ...(portal !== undefined && { PORTAL_ORIGIN: `http://127.0.0.1:${portal.httpPort}` }),
    ...Object.fromEntries(KEY_VARIABLES.map((name) => [`${name}_FILE`, ''])),
    ...keys,
  };
}
