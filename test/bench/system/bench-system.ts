import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { LOCAL_CHAIN_ID } from '../../../deploy/local/infrastructure/chain.ts';
import { type OpenSystem, openSystem } from '../../../services/developer-portal/admin/open-system.ts';
import { makeTestApp } from '../../support/systems/start-gateway.ts';
import {
  findPortBase,
  type StartedSystem,
  type SystemOptions,
  startSystem,
} from '../../support/systems/start-system.ts';
import { cpuSecondsOf } from './cpu-seconds.ts';
import { startChild } from './start-child.ts';

/** The processes of Rolecall, without the chain and the load generator. */
export const PROCESSES = [
  'gateway',
  'evaluator',
  'result-store',
  'webhook-dispatcher',
  'developer-portal',
  'watcher',
  'kafka',
  'redis',
] as const;
export type ProcessName = (typeof PROCESSES)[number];
export type CpuSeconds = Readonly<Record<ProcessName, number>>;

export type BenchSystem = AsyncDisposable & {
  readonly system: StartedSystem;
  readonly open: OpenSystem;
  /** The evaluators' RPC endpoint: the chain, behind the added latency. */
  readonly rpc: string;
  readonly cpuSeconds: () => CpuSeconds;
  /** The keys of new client apps with practically no limits, and with the domain of `aSignIn`. */
  readonly makeApps: (count: number) => Promise<string[]>;
};

export type BenchSystemOptions = Pick<SystemOptions, 'args' | 'env' | 'dataDir'> & {
  /** Added latency of each call to the chain; default 0. */
  readonly rpcLatencyMs?: number;
  /** Chains, each with three endpoints, all of them the demo chain; needs a latency. Default: the
   * demo chain alone. */
  readonly chainCount?: number;
};

/** The ids of this many chains; the first is the demo chain's. */
export const chainIdsOf = (count: number): number[] =>
  Array.from({ length: count }, (_, place) => LOCAL_CHAIN_ID + place);
const ENDPOINTS_PER_CHAIN = 3;

/** Starts the whole system as `npm start` does, with one process of each service unless told
 * otherwise. */
export async function startBenchSystem(options: BenchSystemOptions = {}): Promise<BenchSystem> {
  const { rpcLatencyMs = 0, chainCount, env = {}, ...rest } = options;
  await using scope = new AsyncDisposableStack();
  const portBase = await findPortBase();
  const chainRpc = `http://127.0.0.1:${portBase + 5}`;
  const proxy =
    rpcLatencyMs > 0
      ? scope.use(await startChild('system/latency-proxy.ts', [chainRpc, String(rpcLatencyMs)]))
      : undefined;
  const rpc = proxy?.url ?? chainRpc;
  const system = scope.use(
    await startSystem({
      ...rest,
      portBase,
      env: { LOG_LEVEL: 'warn', ...env },
      chains: () => ({ chains: chainsOf(rpc, chainCount) }),
    }),
  );
  const open = scope.use(await openSystem(system.environment()));
  const running = scope.move();
  return {
    system,
    open,
    rpc,
    cpuSeconds: () =>
      Object.fromEntries(PROCESSES.map((name) => [name, cpuSecondsOf(system.pidsOf(name))])) as Record<
        ProcessName,
        number
      >,
    async makeApps(count) {
      const clientApps = makeClientApps(open.redis);
      const apps = Array.from({ length: count }, () => makeTestApp());
      const domains = ['shop.example'];
      for (const { document } of apps) await clientApps.project({ ...document, domains });
      return apps.map(({ apiKey }) => apiKey);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const CHAIN = {
  chainId: LOCAL_CHAIN_ID,
  name: 'Demo chain',
  nativeSymbol: 'ETH',
  nativeDecimals: 18,
  blockTimeMs: 1_000,
} as const;

const chainsOf = (rpc: string, count: number | undefined) =>
  count === undefined
    ? [{ ...CHAIN, endpoints: [{ url: rpc }] }]
    : chainIdsOf(count).map((chainId) => ({
        ...CHAIN,
        chainId,
        name: `Chain ${chainId}`,
        endpoints: Array.from({ length: ENDPOINTS_PER_CHAIN }, (_, place) => ({
          url: `${rpc}/chain/${chainId}/${place}`,
        })),
      }));

/** The CPU use between two measurements, by process. */
export const usedBetween = (before: CpuSeconds, after: CpuSeconds): CpuSeconds =>
  Object.fromEntries(PROCESSES.map((name) => [name, after[name] - before[name]])) as Record<
    ProcessName,
    number
  >;

export const sumOf = (used: CpuSeconds): number =>
  Object.values(used).reduce((sum, seconds) => sum + seconds, 0);
