import { randomUUID } from 'node:crypto';
import { spawnNode } from '../../support/spawn-process.ts';
import type { ChaosSystem } from '../chaos-system.ts';

/** Of a client app: what its developer sees once. */
export type Credentials = {
  readonly clientId: string;
  readonly apiKey: string;
  readonly webhookSecret: string;
};

/** Beyond what any row asks for. */
const LIMITS: { readonly rps: number; readonly month: number } = { rps: 100_000, month: 100_000_000 };

/** Makes a client app as an operator does, on an account of its own: of a tier, or with limits of its own. */
export async function createApp(
  { dataDir }: Pick<ChaosSystem, 'dataDir'>,
  name: string,
  limits: 'free' | Partial<typeof LIMITS> = {},
): Promise<Credentials> {
  const email = `${randomUUID()}@localhost`;
  const admin = (...args: string[]) => runAdmin([...args, '--data', dataDir, '--json']);
  const tier = limits === 'free' ? 'free' : 'enterprise';
  const app = await admin('app', 'create', '--email', email, '--name', name, '--tier', tier, '--approve');
  if (limits !== 'free') {
    const { rps, month } = { ...LIMITS, ...limits };
    await admin('tier', 'set', email, 'enterprise', '--rps', String(rps), '--month', String(month));
  }
  return app as Credentials;
}

async function runAdmin(args: readonly string[]): Promise<unknown> {
  await using command = spawnNode(['services/developer-portal/admin/main.ts', ...args]);
  const exitCode = await command.exited;
  if (exitCode !== 0) throw new Error(`admin ${args[0]} ${args[1]}: ${command.stderr()}`);
  return JSON.parse(command.stdout()) as unknown;
}
