import { randomBytes } from 'node:crypto';
import { demoTokens } from '../../deploy/local/demo/demo-tokens.ts';
import { findFreePorts } from '../../deploy/local/settings/ports.ts';
import type { DemoChain } from '../support/builders/demo-rules.ts';
import { type CheckClient, makeCheckClient } from '../support/systems/check-client.ts';
import { waitUntil } from '../support/wait-until.ts';
import { runDocker } from './docker.ts';

/** Private networks; the project's network gets one of these. */
const PRIVATE_NETWORKS = '10.0.0.0/8,172.16.0.0/12,192.168.0.0/16';
const CHAIN_ID = 31_337;

type App = { readonly clientId: string; readonly apiKey: string; readonly webhookSecret: string };

export type ComposedSystem = AsyncDisposable & {
  readonly ready: { readonly app: App };
  readonly chain: DemoChain;
  readonly client: CheckClient;
  readonly portal: string;
  readonly prometheus: string;
  /** The address of this machine for containers. */
  readonly receiverHost: string;
  /** Runs `docker compose` with the project's name and settings, and returns its output. */
  readonly compose: (...args: string[]) => Promise<string>;
  /** Runs `docker` itself. */
  readonly docker: (...args: string[]) => Promise<string>;
};

/**
 * Builds the images and starts the project's compose file under a name and on ports of its own.
 * Disposal stops it and removes everything that it leaves behind, volumes too.
 *
 * @throws Error with the engine's message
 */
export async function startCompose(): Promise<ComposedSystem> {
  const project = `rolecall-test-${randomBytes(4).toString('hex')}`;
  const [gatewayPort, portalPort, prometheusPort, chainPort] = (await findFreePorts(4)).map(String);
  const keys = () => `1:${randomBytes(32).toString('base64')}`;
  const env = {
    COMPOSE_PROJECT_NAME: project,
    GATEWAY_PORT: gatewayPort,
    PORTAL_PORT: portalPort,
    PROMETHEUS_PORT: prometheusPort,
    CHAIN_PORT: chainPort,
    ROLECALL_ID_KEYS: keys(),
    ROLECALL_SECRET_KEYS: keys(),
    WEBHOOK_ALLOWED_CIDRS: PRIVATE_NETWORKS,
    WEBHOOK_ALLOW_HTTP: 'true',
  };
  const docker = (...args: string[]): Promise<string> => runDocker(args, env);
  const compose = (...args: string[]): Promise<string> => docker('compose', ...args);
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => void (await compose('down', '--volumes', '--remove-orphans')));
  await compose('up', '--detach', '--build', '--wait').catch(async (error: Error) => {
    const logs = await compose('logs', '--tail', '30').catch(String);
    throw new Error(`${error.message}\n${logs}`);
  });
  const admin = (...args: string[]) => compose('run', '--rm', 'admin', ...args, '--json');
  const email = 'dev@example.com';
  const created = await admin(
    'app',
    'create',
    '--email',
    email,
    '--name',
    'test',
    '--tier',
    'enterprise',
    '--approve',
  );
  const app = JSON.parse(created) as App;
  const network = JSON.parse(await docker('network', 'inspect', `${project}_default`)) as Network[];
  const receiverHost = network[0]?.IPAM.Config[0]?.Gateway ?? '';
  const client = makeCheckClient({ url: `http://127.0.0.1:${gatewayPort}`, apiKey: app.apiKey });
  const kept = stack.move();
  return {
    ready: { app },
    chain: { ...demoTokens, chainId: CHAIN_ID, rpc: `http://127.0.0.1:${chainPort}` },
    client,
    portal: `http://127.0.0.1:${portalPort}`,
    prometheus: `http://127.0.0.1:${prometheusPort}`,
    receiverHost,
    compose,
    docker,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

type Network = { readonly IPAM: { readonly Config: readonly { readonly Gateway: string }[] } };

/** The values of a query, by the given label. */
async function queryPrometheus(url: string, query: string, label: string): Promise<Map<string, number>> {
  const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query })}`);
  const { data } = (await response.json()) as {
    data: { result: { metric: Record<string, string>; value: [number, string] }[] };
  };
  return new Map(data.result.map(({ metric, value }) => [metric[label] ?? '', Number(value[1])]));
}

/** Waits until a query gives the expected values. */
export const untilQuery = (
  url: string,
  query: string,
  label: string,
  isMet: (values: Map<string, number>) => boolean,
): Promise<Map<string, number>> =>
  waitUntil(`Prometheus to answer ${query} as expected`, async () => {
    const values = await queryPrometheus(url, query, label);
    return isMet(values) && values;
  });
