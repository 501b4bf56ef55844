import type { Account, ClientApp, Tier } from '#shared/contracts/apps/client-app.ts';
import { enterpriseLimits } from '#shared/contracts/apps/tiers.ts';
import { accountIdOf } from '../apps/credentials.ts';
import { namesIn, subjectOf, withNames } from '../audit/present-audit.ts';
import { presentAccount, presentOperatorApp } from '../present.ts';
import type { Work } from '../work.ts';
import { OperatorAccount } from './operator-operations.ts';

/** What an operator does and sees, in the portal's pages and by the admin command alike. */

export const showOperatorApp = async ({ accounts }: Work, app: ClientApp) =>
  presentOperatorApp(app, await accounts.read(app.accountId));

export const showOperatorAccount = async ({ clientApps }: Work, account: Account) =>
  OperatorAccount.parse({
    ...presentAccount(account),
    apps: await clientApps.countOwned(account.accountId),
  });

/** Apps whose request for the scope waits, the longest-waiting first. */
export async function listScopeRequests({ accounts, clientApps }: Work) {
  const waiting = await clientApps.list((app) => (app.scope === 'requested' ? [app] : []));
  const shown = await Promise.all(
    waiting.flat().map(async ({ clientId, name, accountId, scopePurpose, scopeRequestedAt, createdAt }) => ({
      clientId,
      name,
      purpose: scopePurpose ?? '',
      requestedAt: scopeRequestedAt ?? createdAt,
      email: (await accounts.read(accountId))?.email ?? '',
    })),
  );
  return shown.sort((a, b) => a.requestedAt.localeCompare(b.requestedAt));
}

/** Sets the tier of an account. An enterprise account may have limits of its own; the others are
 * the tier's defaults. */
export async function setTier(
  work: Work,
  actor: string,
  accountId: string,
  tier: Tier,
  limits: Parameters<typeof enterpriseLimits>[0] = {},
) {
  const own = tier === 'enterprise' ? enterpriseLimits(limits) : undefined;
  return showOperatorAccount(work, await work.accountWork.setTier(actor, accountId, tier, own));
}

type AuditFilters = {
  /** An account's id or whole e-mail address. */
  readonly account?: string | undefined;
  readonly app?: string | undefined;
  readonly action?: string | undefined;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  readonly before?: string | undefined;
  readonly limit: number;
};

/** Audit entries that meet all filters, newest first, with the addresses of their accounts. */
export async function pageAudit(
  { accounts, auditTrail }: Pick<Work, 'accounts' | 'auditTrail'>,
  { account, app, action, sinceMs, untilMs, before, limit }: AuditFilters,
) {
  const { entries, next } = await auditTrail.page({
    // Derived from the address, so that entries of deleted accounts are found too.
    accountId: account?.includes('@') ? accountIdOf(account) : account,
    clientId: app,
    action,
    sinceMs,
    untilMs,
    before,
    countMax: limit,
  });
  const names = await namesIn(accounts, entries);
  const shown = entries.map(({ kind: _, ...entry }) => {
    const email = names.get(entry.accountId);
    const actor = withNames(entry.actor, names);
    const subject = subjectOf(entry, names);
    return { ...entry, actor, subject, ...(email !== undefined && { email }) };
  });
  return { entries: shown, next };
}
