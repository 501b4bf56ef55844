import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommonConfig } from '#shared/config.ts';
import {
  API_KEY_RANDOM_BYTES,
  displayPartsOf,
  hashApiKey,
  makeApiKey,
} from '#shared/contracts/apps/api-key.ts';
import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import { appLimitsOf } from '#shared/contracts/apps/tiers.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import type { TestStores } from '../infrastructure/test-stores.ts';
import { waitUntil } from '../wait-until.ts';
import { spawnNode } from './spawn-process.ts';

const CHAINS = {
  chains: [
    { chainId: 31337, name: 'Local', nativeSymbol: 'ETH', endpoints: [{ url: 'http://127.0.0.1:1/' }] },
  ],
};

/** One key ring for all gateways of a test, so that each reads the ids of the others. */
const ID_KEYS = `1:${randomBytes(32).toString('base64')}`;

export type RunningGateway = AsyncDisposable & {
  readonly url: string;
  readonly process: ReturnType<typeof spawnNode>;
  readonly post: (app: TestApp, body: unknown, headers?: Record<string, string>) => Promise<Response>;
  readonly get: (app: TestApp, path: string, headers?: Record<string, string>) => Promise<Response>;
  /** A request with any method, with a JSON body if there is one. */
  readonly send: (
    app: TestApp,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<Response>;
};

/** Starts a real gateway process on the infrastructure of this run and waits until it listens. */
export async function startGateway(
  config: CommonConfig,
  env: Record<string, string> = {},
): Promise<RunningGateway> {
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-gateway-'));
  writeFileSync(join(dir, 'chains.json'), JSON.stringify(CHAINS));
  const child = spawnNode(['services/gateway/main.ts'], {
    SYSTEM_ID: config.kafka.prefix.replace(/\.$/, ''),
    KAFKA_BROKERS: config.kafka.brokers.join(','),
    REDIS_URL: config.redis.url,
    HTTP_HOST: '127.0.0.1',
    HTTP_PORT: '0',
    OPS_HOST: '127.0.0.1',
    OPS_PORT: '0',
    CHAINS_FILE: join(dir, 'chains.json'),
    ROLECALL_ID_KEYS: ID_KEYS,
    ...env,
  });
  void child.exited.then(() => rmSync(dir, { recursive: true, force: true }));
  const port = await waitUntil('the gateway to listen', () => {
    if (child.child.exitCode !== null)
      throw new Error(`the gateway ended: ${child.stderr()}${child.stdout()}`);
    return /"httpPort":(\d+)/.exec(child.stdout())?.[1];
  });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    process: child,
    post: (app, body, headers = {}) =>
      fetch(`${url}/access-control/check-roles`, {
        method: 'POST',
        headers: { 'x-api-key': app.apiKey, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    get: (app, path, headers = {}) => fetch(url + path, { headers: { 'x-api-key': app.apiKey, ...headers } }),
    send: (app, method, path, body, headers = {}) =>
      fetch(url + path, {
        method,
        headers: {
          'x-api-key': app.apiKey,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

/**
 * Two gateways over the stores of a test file: started before its tests, ended after them.
 *
 * @param stores see `testStores`
 *
 * @example
 * const { gateways, anApp } = testGateways(testStores(5));
 * await gateways[0].post(await anApp(), A_LOCAL_CHECK);
 */
export function testGateways(stores: TestStores, env: Record<string, string> = {}) {
  const gateways: RunningGateway[] = [];
  const start = () => stores.use(startGateway(stores.config, env));
  beforeAll(async () => {
    await stores.redis.set(GENERATION_KEY, 'test');
    gateways.push(...(await Promise.all([start(), start()])));
  });
  return {
    /** Both are there once the tests begin. */
    gateways: gateways as unknown as readonly [RunningGateway, RunningGateway],
    /** A client app that both know, with an API key. */
    async anApp(limits: Partial<ClientApp['limits']> = {}, over: Partial<ClientApp> = {}): Promise<TestApp> {
      const app = makeTestApp(limits);
      const document = { ...app.document, ...over };
      await makeClientApps(stores.redis).project(document);
      return { ...app, document };
    },
  };
}

export type TestApp = { readonly apiKey: string; readonly document: ClientApp };

/** A client app with an API key, ready for `makeClientApps(redis).project`. */
export function makeTestApp(limits: Partial<ClientApp['limits']> = {}): TestApp {
  const apiKey = makeApiKey(randomBytes(API_KEY_RANDOM_BYTES));
  const createdAt = new Date().toISOString();
  return {
    apiKey,
    document: {
      clientId: `app_${randomUUID().slice(0, 8)}`,
      version: 1,
      accountId: 'acc_1',
      name: 'A test app',
      scope: 'approved',
      suspended: false,
      limits: {
        ...appLimitsOf({ tier: limits.tier ?? 'enterprise' }),
        requestsPerSecond: 100_000,
        requestsPerMonth: 100_000_000,
        ...limits,
      },
      keys: [
        {
          keyId: 'key_1',
          hash: hashApiKey(apiKey),
          name: 'default',
          ...displayPartsOf(apiKey),
          marketplace: false,
          permissions: ['check', 'read', 'manage'],
          createdAt,
        },
      ],
      webhookSecrets: [],
      createdAt,
    },
  };
}

/** A check of the local chain that every gateway of these tests accepts. */
export const A_LOCAL_CHECK = {
  account: '0x52908400098527886E0F7030069857D2E4169EE7',
  rules: [{ type: 'NATIVE', chainId: 31337, roleId: 'holder' }],
} as const;

export const responsePath = (requestId: string): string =>
  `/access-control/check-roles/responses/${requestId}`;
