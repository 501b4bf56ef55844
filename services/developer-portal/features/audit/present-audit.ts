import type { z } from 'zod';
import type { Audit } from '#shared/contracts/apps/audit.ts';
import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import type { Accounts } from '#shared/stores/apps/accounts.ts';
import type { AuditEntry } from '../../http/api.ts';

const ACCOUNT_ID = /acc_[0-9a-f]+/g;

type Names = ReadonlyMap<string, string>;

/** The addresses of those of the wanted accounts that entries are about; deleted accounts have
 * none. */
export async function namesIn(
  { read }: Pick<Accounts, 'read'>,
  entries: readonly Audit[],
  isWanted: (accountId: string) => boolean = () => true,
): Promise<Names> {
  const ids = entries.flatMap(({ accountId, actor, subject }) => [
    accountId,
    ...(`${actor} ${subject}`.match(ACCOUNT_ID) ?? []),
  ]);
  const known = [...new Set(ids)].filter(isWanted).map((id) => read(id));
  return new Map(
    (await Promise.all(known)).flatMap((account) =>
      account && account.deletedAt === undefined ? [[account.accountId, account.email] as const] : [],
    ),
  );
}

export const withNames = (text: string, names: Names): string =>
  text.replace(ACCOUNT_ID, (id) => names.get(id) ?? id);

/** An entry about a person is shown with the person's address; an entry of the account itself has
 * no other subject. */
export const subjectOf = (
  { accountId, subject }: Pick<Audit, 'accountId' | 'subject'>,
  names: Names,
): string => (subject === accountId ? subject : withNames(subject, names));

/** The ids of the accounts that an app belongs to, or belonged to. */
export const teamOf = ({ accountId, members = [], formerMembers = [] }: ClientApp): ReadonlySet<string> =>
  new Set([accountId, ...members.map((member) => member.accountId), ...formerMembers]);

/** The actor of entries that nobody who is signed in has caused. */
export const PORTAL_ACTOR = 'portal';

/**
 * Entries as developers see them: their team by address, their keys by id, and everybody else as
 * `operator`.
 */
export async function presentAudit(
  accounts: Pick<Accounts, 'read'>,
  entries: readonly Audit[],
  reader: Account,
  team: ReadonlySet<string>,
): Promise<z.input<typeof AuditEntry>[]> {
  const isOfTeam = (id: string) => id === reader.accountId || team.has(id);
  const names = await namesIn(accounts, entries, isOfTeam);
  const actorOf = (actor: string) => {
    if (isOfTeam(actor)) return names.get(actor) ?? actor;
    return actor === PORTAL_ACTOR || actor.startsWith('key_') ? actor : 'operator';
  };
  return entries.map((entry) => {
    const { at, action, from } = entry;
    return { at, actor: actorOf(entry.actor), action, subject: subjectOf(entry, names), from };
  });
}
