import { randomUUID } from 'node:crypto';
import { enterpriseLimits } from '#shared/contracts/apps/tiers.ts';
import { createApp as createByCommand } from '../../../services/developer-portal/admin/commands/app-commands.ts';
import { newCredentials, newKey } from '../../../services/developer-portal/features/apps/credentials.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { ChaosSystem } from './chaos-system.ts';

type Open = Pick<ChaosSystem, 'open'>;

/** The secrets of a client app that its developer sees once. */
export type Credentials = Awaited<ReturnType<typeof createByCommand>>;

/** More than any row needs. */
const LIMITS = { requestsPerSecond: 100_000, requestsPerMonth: 100_000_000 };
const AT_ONCE = 8;

/** Lets sign-in messages of this app be for the domain of `aSignIn`. */
export const allowSignIns = ({ open }: Open, clientId: string): Promise<unknown> =>
  open.apps.setDomains(open.actor, clientId, ['shop.example']);

/** Creates a client app as an operator's command does, on a new account unless it is named, with a
 * tier or with custom limits. */
export const createApp = (
  { open }: Open,
  name: string,
  limits: 'free' | Partial<typeof LIMITS> = {},
  email = `${randomUUID()}@localhost`,
): Promise<Credentials> =>
  createByCommand(open, {
    ...{ email, name, approve: true, vouch: true },
    ...(limits === 'free'
      ? { tier: 'free' }
      : { tier: 'enterprise', limits: enterpriseLimits({ ...LIMITS, ...limits }) }),
  });

/** Creates an enterprise account with this many approved apps, some at a time: one after the other
 * would take minutes. */
export async function createApps({ open }: Open, count: number): Promise<Credentials[]> {
  const email = `${randomUUID()}@localhost`;
  // The load is running: a request to a store that times out is repeated.
  const tried = <T>(what: string, work: () => Promise<T>): Promise<T> =>
    waitUntil(
      what,
      async () =>
        await work().then(
          (value) => ({ value }),
          () => undefined,
        ),
    ).then(({ value }) => value);
  const owner = await tried('the account', () =>
    open.accountWork.ensure('holder', email, { verified: true, tier: 'enterprise' }),
  );
  const made: Credentials[] = [];
  let left = count;
  const createNext = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const credentials = newCredentials();
      const app = { owner, name: 'Holder', scope: 'approved', credentials, keyId: newKey().keyId } as const;
      await tried('an app', () => open.apps.create('holder', app));
      made.push(credentials);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, createNext));
  return made;
}
