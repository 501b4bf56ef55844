import { randomBytes } from 'node:crypto';
import { limitsOf } from '#shared/contracts/tiers.ts';
import { makePasswords } from '../passwords.ts';
import { ACTOR, requireAccount } from './app-commands.ts';
import type { OpenSystem } from './open-system.ts';

const PASSWORD_BYTES = 15;

/** Commands about accounts of the portal; each value is what `--json` prints. */

export async function listAccounts({ accounts, clientApps }: OpenSystem, query = '') {
  const found = (await accounts.list()).filter(({ email }) =>
    email.toLowerCase().includes(query.toLowerCase()),
  );
  return Promise.all(
    found.map(async (account) => ({
      accountId: account.accountId,
      email: account.email,
      tier: account.tier,
      operator: account.operator ?? false,
      limits: limitsOf(account),
      apps: (await clientApps.listOwned(account.accountId)).length,
      createdAt: account.createdAt,
    })),
  );
}

/** Lets an account work as an operator in the portal, or no longer. */
export async function setOperator(system: OpenSystem, email: string, operator: boolean) {
  const { accountId } = await requireAccount(system, email);
  await system.accountWork.setOperator(ACTOR, accountId, operator);
  return { accountId, email, operator };
}

/** Gives an account a new password, and ends its sessions: for one made by `app create`, or a forgotten one. */
export async function resetPassword(system: OpenSystem, email: string) {
  const { accountId } = await requireAccount(system, email);
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  await system.accountWork.setPassword(ACTOR, accountId, await makePasswords().hash(password, ACTOR));
  return { email, password };
}

export async function deleteAccount(system: OpenSystem, email: string) {
  const { accountId } = await requireAccount(system, email);
  await system.accountWork.remove(ACTOR, accountId);
  return { accountId, email, deleted: true };
}

/** Makes sure that an operator can sign in with this password; nothing is written where it is so. */
export async function ensureOperator(
  system: OpenSystem,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<void> {
  const passwords = makePasswords();
  const known = await system.accountWork.ensure(ACTOR, email);
  if (!(await passwords.verify(password, known.passwordHash, ACTOR)))
    await system.accountWork.setPassword(ACTOR, known.accountId, await passwords.hash(password, ACTOR));
  await system.accountWork.setOperator(ACTOR, known.accountId, true);
}
