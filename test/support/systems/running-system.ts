import { readFileSync } from 'node:fs';
import type { ReadyLine } from '../../../deploy/local/system/ready-line.ts';
import { loadLocalSystem } from '../../../services/developer-portal/admin/local-system.ts';
import { waitUntil } from '../wait-until.ts';
import { type CheckClient, makeCheckClient } from './check-client.ts';
import { type AdminAnswer, runAdmin } from './run-admin.ts';

/** The addresses and tools of a running system: all that a test needs to use it. */
export type SystemFacts = {
  readonly ready: ReadyLine;
  readonly dataDir: string;
  readonly logFile: string;
  readonly portBase: number;
  readonly starterPid: number;
  /** The checkout whose operator's command is used; default this one. */
  readonly root?: string;
};

export type RunningSystem = SystemFacts & {
  /** The demo chain's part of the ready line. */
  readonly chain: NonNullable<ReadyLine['chain']>;
  /** A client of the first gateway as the app of the ready line. */
  readonly client: CheckClient;
  /** A client of the first gateway with another key. */
  readonly clientOf: (apiKey: string) => CheckClient;
  /** Everything that the starter and the services have printed. */
  readonly log: () => string;
  /** The process ids of a service; a restarting process has none. */
  readonly pidsOf: (service: string) => number[];
  /** Kills the first process of a service with -9 and returns when another has replaced it and is
   * ready. */
  readonly kill: (service: string) => Promise<void>;
  /** The addresses and keys that an operator needs: broker, store and key rings. */
  readonly environment: () => Readonly<Record<string, string>>;
  /** Runs the operator's command with `--json`. */
  readonly admin: (...args: string[]) => Promise<AdminAnswer>;
};

export function makeRunningSystem(facts: SystemFacts): RunningSystem {
  const { ready, dataDir, logFile, root = '' } = facts;
  const { chain } = ready;
  if (chain === null) throw new Error('the tests need the demo chain');
  const running = () => loadLocalSystem(dataDir).processes;
  const clientOf = (apiKey: string) => makeCheckClient({ url: ready.gateways[0] ?? '', apiKey });
  return {
    ...facts,
    chain,
    environment: () => loadLocalSystem(dataDir).environment,
    client: clientOf(ready.app.apiKey),
    clientOf,
    log: () => readFileSync(logFile, 'utf8'),
    pidsOf: (service) => running().flatMap((process) => (process.service === service ? [process.pid] : [])),
    async kill(service) {
      const before = running();
      const victim = before.find((process) => process.service === service);
      if (!victim) throw new Error(`no ${service} is running`);
      process.kill(victim.pid, 'SIGKILL');
      await waitUntil(`another ${service}`, async () => {
        const known = before.map(({ pid }) => pid);
        const fresh = running().find((p) => p.service === service && !known.includes(p.pid));
        return fresh !== undefined && (fresh.ops === null || (await isReady(fresh.ops)));
      });
    },
    admin: (...command) => runAdmin([...command, '--data', dataDir], { root }),
  };
}

export async function isReady(ops: string): Promise<boolean> {
  try {
    return (await fetch(`${ops}/readyz`)).status === 200;
  } catch {
    return false;
  }
}
