import { randomUUID } from 'node:crypto';
import { enterpriseLimits } from '#shared/contracts/apps/tiers.ts';
import { createApp } from '../../../services/developer-portal/admin/commands/app-commands.ts';
import { loadLocalSystem } from '../../../services/developer-portal/admin/local-system.ts';
import { openSystem } from '../../../services/developer-portal/admin/open-system.ts';
import { isReady, type SystemFacts } from '../systems/running-system.ts';
import { findPortBase, startSystem } from '../systems/start-system.ts';
import { waitUntil } from '../wait-until.ts';

const ENVIRONMENT = {
  // Every suite signs people up from one address.
  PORTAL_SIGN_UPS_PER_HOUR: '10000',
  PORTAL_PASSWORD_COST: '10',
  // A delivery that a crash interrupted is tried again within the suite.
  WEBHOOK_SCHEDULE_SCALE: '0.01',
};
/** More than any suite uses. */
const LIMITS = enterpriseLimits({
  requestsPerSecond: 100_000,
  requestsPerMonth: 100_000_000,
  clientApps: 1_000,
  marketplaceKeys: 1_000,
});

export type SharedSystem = AsyncDisposable & {
  /** For the next suite: once every process is ready, with an app of its own. */
  readonly prepare: () => Promise<SystemFacts>;
};

export async function startSharedSystem(place: number): Promise<SharedSystem> {
  const portBase = await findPortBase(-place);
  const system = await startSystem({ portBase, env: ENVIRONMENT });
  const { ready, dataDir, logFile, starterPid } = system;
  const processCount = loadLocalSystem(dataDir).processes.length;
  const wholeProcesses = () =>
    waitUntil('every process of the shared system to be ready', async () => {
      const { processes } = loadLocalSystem(dataDir);
      const areReady = await Promise.all(processes.map(({ ops }) => ops === null || isReady(ops)));
      return processes.length === processCount && areReady.every(Boolean) && processes;
    });
  return {
    async prepare() {
      const processes = (await wholeProcesses()).flatMap(({ ops, ...rest }) =>
        ops === null ? [] : [{ ...rest, ops }],
      );
      await using open = await openSystem(system.environment());
      const name = `Suite ${randomUUID()}`;
      const owner = { email: `${randomUUID()}@localhost`, tier: 'enterprise', limits: LIMITS } as const;
      const app = await createApp(open, { ...owner, name, approve: true, vouch: true });
      return { ready: { ...ready, app, processes }, dataDir, logFile, portBase, starterPid };
    },
    [Symbol.asyncDispose]: () => system[Symbol.asyncDispose](),
  };
}
