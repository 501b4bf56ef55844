import { randomUUID } from 'node:crypto';
import { runAdmin } from '../../support/systems/run-admin.ts';
import type { ChaosSystem } from './chaos-system.ts';

/** The secrets of a client app that its developer sees once. */
export type Credentials = {
  readonly clientId: string;
  readonly apiKey: string;
  readonly webhookSecret: string;
};

/** More than any row needs. */
const LIMITS: { readonly rps: number; readonly month: number } = { rps: 100_000, month: 100_000_000 };

async function admin({ dataDir }: Pick<ChaosSystem, 'dataDir'>, ...args: string[]): Promise<unknown> {
  const { exitCode, value, stderr } = await runAdmin([...args, '--data', dataDir]);
  if (exitCode !== 0) throw new Error(`admin ${args[0]} ${args[1]}: ${stderr}`);
  return value;
}

/** Lets sign-in messages of this app be for the domain of `aSignIn`. */
export const allowSignIns = (system: Pick<ChaosSystem, 'dataDir'>, clientId: string): Promise<unknown> =>
  admin(system, 'app', 'domains', clientId, '--set', 'shop.example');

/** Creates a client app as an operator does, on a new account unless it is named, with a tier or
 * with custom limits. */
export async function createApp(
  system: Pick<ChaosSystem, 'dataDir'>,
  name: string,
  limits: 'free' | Partial<typeof LIMITS> = {},
  email = `${randomUUID()}@localhost`,
): Promise<Credentials> {
  const tier = limits === 'free' ? 'free' : 'enterprise';
  const owner = ['--email', email, '--name', name];
  const app = await admin(system, 'app', 'create', ...owner, '--tier', tier, '--approve');
  if (limits !== 'free') {
    const { rps, month } = { ...LIMITS, ...limits };
    await admin(system, 'tier', 'set', email, 'enterprise', '--rps', String(rps), '--month', String(month));
  }
  return app as Credentials;
}
