import type { Account, ClientApp, Tier } from '#shared/contracts/apps/client-app.ts';
import { enterpriseLimits } from '#shared/contracts/apps/tiers.ts';
import type { DocumentScan } from '#shared/stores/documents/versioned-documents.ts';
import { accountIdOf } from '../apps/credentials.ts';
import { namesIn, subjectOf, withNames } from '../audit/present-audit.ts';
import { presentAccount, presentOperatorApp } from '../present.ts';
import type { Work } from '../work.ts';
import { OperatorAccount } from './operator-operations.ts';

/** The work of an operator, in the portal's pages and by the admin command alike. */

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

export type AuditFilters = Omit<Parameters<Work['auditTrail']['page']>[0], 'accountId' | 'clientId'> & {
  /** An account's id or whole e-mail address. */
  readonly account?: string | undefined;
  readonly app?: string | undefined;
};

/** Audit entries that meet all filters, newest first, with the addresses of their accounts. */
export async function pageAudit(
  { accounts, auditTrail }: Pick<Work, 'accounts' | 'auditTrail'>,
  { account, app: clientId, ...filters }: AuditFilters,
) {
  // Derived from the address, so that entries of deleted accounts are found too.
  const accountId = account?.includes('@') ? accountIdOf(account) : account;
  const { entries, next } = await auditTrail.page({ ...filters, accountId, clientId });
  const names = await namesIn(accounts, entries);
  const shown = entries.map(({ kind: _, ...entry }) => {
    const actor = withNames(entry.actor, names);
    return { ...entry, actor, subject: subjectOf(entry, names), email: names.get(entry.accountId) };
  });
  return { entries: shown, next };
}

/** A page ends after the step that reaches this many hits. */
const FOUND_COUNT = 100;
/** Steps of one page, of about 100 documents each. */
const STEPS_MAX = 50;

/**
 * Looks through all documents of a kind, about 5 000 of them for one page. A document that is there
 * all the time is found; one may be found on two pages.
 *
 * @param after the cursor of the page; '0' for the first one
 * @returns what was found, in no order, and the cursor of the next page. A page may have found
 *   nothing and still have it.
 */
export async function searchDocuments<D>(
  scan: DocumentScan<D>,
  isWanted: (document: D) => boolean,
  after: string,
) {
  const found: D[] = [];
  let next: string | undefined = after;
  for (let steps = 0; next !== undefined && steps < STEPS_MAX && found.length < FOUND_COUNT; steps++) {
    const step: Awaited<ReturnType<DocumentScan<D>>> = await scan(next);
    found.push(...step.documents.filter(isWanted));
    next = step.cursor;
  }
  return { found, next };
}
