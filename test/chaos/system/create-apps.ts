import { randomUUID } from 'node:crypto';
import {
  type Credentials,
  newCredentials,
  newKey,
} from '../../../services/developer-portal/features/apps/credentials.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { ChaosSystem } from './chaos-system.ts';

const AT_ONCE = 8;

/** Creates an enterprise account with this many approved apps, through the portal's own writes: a
 * command for each would take minutes. */
export async function createApps({ open }: ChaosSystem, count: number): Promise<Credentials[]> {
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
