import { identify } from '../processes/process-identity.ts';
import type { Watchdog } from '../processes/start-watchdog.ts';
import { type Part, type Supervised, supervise } from '../processes/supervise.ts';
import { removeSystemFile, type SystemFile, writeSystemFile } from './system-file.ts';

/** In the order of stopping; the members of a stage stop together. */
const STAGES = ['edge', 'workers', 'chain', 'store', 'broker'] as const;
type Stage = (typeof STAGES)[number];

export type Member = Part & {
  readonly service: string;
  readonly stage: Stage;
  /** Where its `/readyz` is; null for a process that is not a service of ours. */
  readonly ops: string | null;
};

type FleetOptions = {
  readonly dir: string;
  /** The environment that the operator's command needs. */
  readonly environment: Readonly<Record<string, string>>;
  readonly watchdog: Watchdog;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
};

export type Fleet = AsyncDisposable & {
  /** @throws the error of the member's first start; other starts are given up then. */
  start(member: Member): Promise<Supervised>;
  processes(): SystemFile['processes'];
};

/**
 * All the processes of a system: started one by one or together, kept up, written down in the data
 * directory whenever one comes or goes, and stopped in stages.
 */
export function makeFleet({ dir, environment, watchdog, say, signal: stopSignal }: FleetOptions): Fleet {
  const failed = new AbortController();
  const signal = AbortSignal.any([stopSignal, failed.signal]);
  const starting: Promise<unknown>[] = [];
  const members: { member: Member; supervised: Supervised }[] = [];
  const pids = new Map<Member, number>();

  const processes = (): SystemFile['processes'] =>
    [...pids].map(([{ service, ops }, pid]) => ({ service, pid, ops }));
  const record = (): void =>
    writeSystemFile(dir, {
      environment: { ...environment },
      processes: processes(),
      starter: identify(process.pid),
      identities: [watchdog.pid, ...pids.values()].map(identify),
    });

  const start = async (member: Member): Promise<Supervised> => {
    try {
      const supervised = await supervise(member, {
        signal,
        say,
        cameUp(pid) {
          watchdog.watch(pid, member.kind);
          pids.set(member, pid);
          record();
        },
        wentDown(pid) {
          watchdog.unwatch(pid);
          pids.delete(member);
          record();
        },
      });
      members.push({ member, supervised });
      return supervised;
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  };

  return {
    processes,
    start(member) {
      const started = start(member);
      starting.push(started.catch(() => undefined));
      return started;
    },
    async [Symbol.asyncDispose]() {
      failed.abort();
      await Promise.all(starting);
      for (const stage of STAGES) {
        const ending = members.filter(({ member }) => member.stage === stage);
        await Promise.all(ending.map(({ supervised }) => supervised.stop()));
      }
      removeSystemFile(dir);
    },
  };
}
