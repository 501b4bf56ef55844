import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepareChains } from '../../deploy/local/infrastructure/local-chains.ts';
import { supervise } from '../../deploy/local/processes/supervise.ts';
import { waitUntilReady } from '../../deploy/local/processes/wait-until-ready.ts';
import { planEnvironment } from '../../deploy/local/settings/local-environment.ts';
import { loadLocalSecrets } from '../../deploy/local/settings/local-secrets.ts';
import { type PlannedProcess, planPorts } from '../../deploy/local/settings/plan-ports.ts';
import { servicePart } from '../../deploy/local/system/local-parts.ts';
import type { Member } from '../../deploy/local/system/make-fleet.ts';
import type * as localSystem from '../../deploy/local/system/start-local-system.ts';
import { type ChaosSystem, startChaosSystem } from '../chaos/chaos-system.ts';
import { spawnNode } from '../support/systems/spawn-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import type { EarlierVersion } from './earlier-version.ts';

/** Processes of this version that are started in addition; their ops ports are beyond those of the earlier version's. */
const ADDITIONAL = {
  watcher: { service: 'watcher', name: 'watcher', ops: 60 },
  'result-store': { service: 'result-store', name: 'result-store-new', ops: 61 },
} as const;

export type RollingSystem = ChaosSystem & {
  /** The operator's command of this version, before any of its processes runs. */
  readonly applyTopics: () => Promise<void>;
  /** Stops one process of the earlier version after the other, and starts this version's instead. */
  readonly upgrade: (service: string) => Promise<void>;
  /** Starts a process of this version beside those that run. */
  readonly startBeside: (service: keyof typeof ADDITIONAL) => Promise<void>;
  /** Processes that ended more often than by their upgrade, or did not start. */
  readonly restarts: () => readonly string[];
};

/**
 * Starts a system of the earlier version by its own code, on three brokers, whose processes can be replaced one by one.
 *
 * @example
 * await using system = await startRollingSystem(18_000, earlier);
 * await system.applyTopics();
 * await system.upgrade('result-store');
 */
export async function startRollingSystem(portBase: number, { root }: EarlierVersion): Promise<RollingSystem> {
  await using scope = new AsyncDisposableStack();
  const upgraded = new Map<string, Member>();
  const file = pathToFileURL(join(root, 'deploy/local/system/start-local-system.ts')).href;
  const { startLocalSystem } = (await import(file)) as typeof localSystem;
  const part = (member: Member): Member => ({
    ...member,
    start: (hooks) => (upgraded.get(member.name) ?? member).start(hooks),
  });
  const system = scope.use(
    await startChaosSystem(portBase, { brokers: 3 }, { root, startLocalSystem, part }),
  );
  const ends = new AbortController();
  scope.defer(() => ends.abort());
  const { processes } = planPorts({ ...system.options, watchers: 0 });
  const whole = scope.move();
  return {
    ...system,
    async applyTopics() {
      const file = 'services/developer-portal/admin/main.ts';
      await using command = spawnNode([file, 'topics', 'apply', '--data', system.dataDir, '--json']);
      if ((await command.exited) !== 0) throw new Error(`admin topics apply: ${command.stderr()}`);
    },
    async upgrade(service) {
      for (const planned of processes.filter((process) => process.service === service)) {
        const next = partOf(system, planned);
        upgraded.set(planned.name, next);
        const pid = system.running(service).find(({ ops }) => ops === next.ops)?.pid;
        if (pid === undefined) throw new Error(`${planned.name} does not run`);
        process.kill(pid, 'SIGTERM');
        await waitUntil(`${planned.name} to end`, () => !system.running().some((one) => one.pid === pid));
        await system.waitUntilReady();
      }
    },
    async startBeside(which) {
      const { service, name, ops } = ADDITIONAL[which];
      const added = partOf(system, { service, name, opsPort: portBase + ops, httpPort: undefined });
      const running = await supervise(added, {
        signal: ends.signal,
        say: system.lines.say,
        cameUp: () => undefined,
        wentDown: () => undefined,
      });
      whole.defer(() => running.stop());
      await waitUntilReady(running, added.ops, ends.signal);
    },
    restarts() {
      const said = system.lines.said();
      const faults = said.filter((line) => line.includes('could not be started'));
      const ended = (name: string) => said.filter((line) => line.startsWith(`${name} ended`)).length;
      for (const { name } of processes)
        if (ended(name) > 1) faults.push(`${name} ended ${ended(name)} times`);
      const added = Object.values(ADDITIONAL).map(({ name }) => name);
      for (const name of [...added, 'kafka', 'redis', 'chain'])
        if (ended(name) > 0) faults.push(`${name} ended`);
      return faults;
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}

/** A process of this version with the settings of the running system, and this version's own. */
function partOf({ options, environment, dataDir, lines }: ChaosSystem, planned: PlannedProcess) {
  const ports = planPorts({ ...options, watchers: 0 });
  const chains = prepareChains(options.chains, environment, dataDir, ports.chain);
  return servicePart(planned, planEnvironment(environment, ports, loadLocalSecrets(dataDir), chains), lines);
}
