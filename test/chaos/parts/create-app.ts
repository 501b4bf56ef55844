import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { spawnNode } from '../../support/systems/spawn-process.ts';
import type { ChaosSystem } from '../chaos-system.ts';

/** The secrets of a client app that its developer sees once. */
export type Credentials = {
  readonly clientId: string;
  readonly apiKey: string;
  readonly webhookSecret: string;
};

/** More than any row needs. */
const LIMITS: { readonly rps: number; readonly month: number } = { rps: 100_000, month: 100_000_000 };

/** Creates a client app as an operator does, on a new account unless it is named, with a tier or with custom limits. */
export async function createApp(
  { dataDir, root = '' }: Pick<ChaosSystem, 'dataDir' | 'root'>,
  name: string,
  limits: 'free' | Partial<typeof LIMITS> = {},
  email = `${randomUUID()}@localhost`,
): Promise<Credentials> {
  const admin = (...args: string[]) => runAdmin(root, [...args, '--data', dataDir, '--json']);
  const tier = limits === 'free' ? 'free' : 'enterprise';
  const app = await admin('app', 'create', '--email', email, '--name', name, '--tier', tier, '--approve');
  if (limits !== 'free') {
    const { rps, month } = { ...LIMITS, ...limits };
    await admin('tier', 'set', email, 'enterprise', '--rps', String(rps), '--month', String(month));
  }
  return app as Credentials;
}

async function runAdmin(root: string, args: readonly string[]): Promise<unknown> {
  await using command = spawnNode([join(root, 'services/developer-portal/admin/main.ts'), ...args]);
  const exitCode = await command.exited;
  if (exitCode !== 0) throw new Error(`admin ${args[0]} ${args[1]}: ${command.stderr()}`);
  return JSON.parse(command.stdout()) as unknown;
}
