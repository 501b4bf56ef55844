import { randomBytes } from 'node:crypto';
import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import { makePasswords } from '../../features/accounts/passwords.ts';
import { requireVerified } from '../../features/accounts/verify-account.ts';
import type { OpenSystem } from '../open-system.ts';
import { ACTOR, requireAccount, requireVerifiedAccount, type Vouch } from './app-commands.ts';

const PASSWORD_BYTES = 15;

/** Commands about accounts of the portal; each value is the output of `--json`. */

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
      verified: account.verified,
      twoFactor: account.twoFactor !== undefined,
      limits: limitsOf(account),
      apps: await clientApps.countOwned(account.accountId),
      createdAt: account.createdAt,
    })),
  );
}

/** Gives an account operator rights in the portal and a new password; its sessions end. */
export async function grantOperator(system: OpenSystem, email: string, { vouch }: Vouch) {
  const known = await requireAccount(system, email);
  requireVerified(known, vouch);
  const { password, passwordHash } = await newPassword();
  await system.accountWork.grantOperator(ACTOR, known.accountId, passwordHash, vouch);
  return { accountId: known.accountId, email, operator: true, password };
}

export async function withdrawOperator(system: OpenSystem, email: string, { vouch }: Vouch) {
  const known = await requireAccount(system, email);
  requireVerified(known, vouch);
  await system.accountWork.withdrawOperator(ACTOR, known.accountId);
  return { accountId: known.accountId, email, operator: false };
}

/** Sets a new password, which ends the sessions: for an account made by `app create`, or a forgotten password. */
export async function resetPassword(system: OpenSystem, email: string, { vouch }: Vouch) {
  const { accountId } = await requireVerifiedAccount(system, email, { vouch });
  const { password, passwordHash } = await newPassword();
  await system.accountWork.setPassword(ACTOR, accountId, passwordHash);
  return { email, password };
}

/** Makes a link by which the account's owner sets a new password; sessions end once it is used. */
export async function makeResetLink(system: OpenSystem, email: string, { vouch }: Vouch) {
  const account = await requireVerifiedAccount(system, email, { vouch });
  const { token, expiresAt } = await system.resetLinks.make(ACTOR, account);
  return { email, link: `${system.portalOrigin}/reset-password#${token}`, expiresAt };
}

/** Turns the second factor of an account off, for a user who lost it and all recovery codes; sessions end. */
export async function resetTwoFactor(system: OpenSystem, email: string, { vouch }: Vouch) {
  const account = await requireVerifiedAccount(system, email, { vouch });
  await system.twoFactor.disable(ACTOR, account, 'two-factor-reset');
  return { accountId: account.accountId, email, twoFactor: false };
}

async function newPassword() {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  return { password, passwordHash: await makePasswords().hash(password, ACTOR) };
}

export async function deleteAccount(system: OpenSystem, email: string, { vouch }: Vouch) {
  const known = await requireAccount(system, email);
  requireVerified(known, vouch);
  const { accountId } = known;
  await system.accountWork.remove(ACTOR, accountId);
  return { accountId, email, deleted: true };
}

/** Ensures that an operator can sign in with this password; writes nothing if that is so already. */
export async function ensureOperator(
  system: OpenSystem,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<void> {
  const passwords = makePasswords();
  const known = await system.accountWork.ensure(ACTOR, email, { verified: true });
  if (known.operator && (await passwords.verify(password, known.passwordHash, ACTOR))) return;
  await system.accountWork.grantOperator(ACTOR, known.accountId, await passwords.hash(password, ACTOR), true);
}
