import type {
  Account,
  ClientApp,
  OperatorRights,
  Tier,
  TwoFactor,
} from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { set } from '../../domain/change-app.ts';
import type { ClientAppWork } from '../apps/client-apps.ts';
import { accountIdOf } from '../apps/credentials.ts';
import { type Basis, existing } from '../basis.ts';
import { removeMember } from '../team/change-members.ts';

export type AccountWork = ReturnType<typeof makeAccountWork>;

/**
 * Operations on accounts. Each write returns once it is in effect, in the topic and in the view.
 *
 * @throws ServiceError `not-found` (deleted accounts too), and the errors of a write
 */
export function makeAccountWork({
  accounts,
  clientApps,
  apps,
  writes,
  now,
}: Basis & { readonly apps: ClientAppWork }) {
  const changeAccount = (
    actor: string,
    accountId: string,
    action: string,
    by: (account: Account) => Account | undefined,
  ) =>
    writes.account(accountId, { actor, action, subject: accountId }, (current) =>
      by(existing(current, 'there is no such account')),
    );

  /** Returns the account of an e-mail address; creates it if there is none. */
  const ensure = async (
    actor: string,
    email: string,
    fields: Partial<Account> & Pick<Account, 'verified'>,
  ): Promise<Account> => {
    const known = await accounts.findByEmail(email);
    if (known) return known;
    const accountId = accountIdOf(email);
    const createdAt = new Date(now()).toISOString();
    const auditEntry = { actor, action: 'account-created', subject: accountId };
    return writes.account(accountId, auditEntry, (current) =>
      current && current.deletedAt === undefined
        ? undefined
        : { version: 1, tier: 'free', ...fields, accountId, email, createdAt },
    );
  };

  /** Sets the tier. The gateway takes an app's limits from its account, so this one write changes
   * all its apps. */
  const setTier = (actor: string, accountId: string, tier: Tier, limits: Account['limits']) =>
    changeAccount(actor, accountId, `tier-${tier}`, set({ tier, limits }));

  return {
    ensure,
    /** Marks the account as verified. An account that signed up by itself needs `vouch`. */
    verify: (actor: string, accountId: string, vouch: boolean) =>
      changeAccount(actor, accountId, 'account-verified', (current) => {
        requireVerified(current, vouch);
        return set<Account>({ verified: true })(current);
      }),
    /** Gives a verified account operator rights and a new password, which ends its sessions.
     * @throws ServiceError `conflict` for an account of the identity provider */
    grantOperator: (actor: string, accountId: string, passwordHash: string, rights: OperatorRights) =>
      changeAccount(actor, accountId, GRANTED[rights], (current) => {
        requireVerified(current, false);
        requireOwnPassword(current);
        return { ...current, operator: rights, passwordHash };
      }),
    /**
     * Binds a verified account to a person of the identity provider. The account has no password from
     * then on, and its sessions end.
     *
     * Anybody can sign up with an address of others and make keys before its owner comes, so an
     * account whose address nobody has verified is not joined. An address can also be given to
     * another person, so the first one keeps the account.
     *
     * @throws ServiceError `conflict`
     */
    join: (accountId: string, subject: string) =>
      changeAccount(accountId, accountId, 'single-sign-on-joined', (current) => {
        if (current.singleSignOn === subject) return undefined;
        if (current.singleSignOn !== undefined) throw new ServiceError('conflict', OTHER_PERSON);
        if (!current.verified) throw new ServiceError('conflict', UNVERIFIED);
        const { passwordHash: _, ...rest } = current;
        return { ...rest, singleSignOn: subject };
      }),
    /** Lets the next person with the account's address join it. */
    resetSingleSignOn: (actor: string, accountId: string) =>
      changeAccount(actor, accountId, 'single-sign-on-reset', set({ singleSignOn: undefined })),
    withdrawOperator: (actor: string, accountId: string) =>
      changeAccount(actor, accountId, 'operator-withdrawn', set({ operator: undefined })),
    setTier,
    setNotices: (accountId: string, areWanted: boolean) =>
      changeAccount(
        accountId,
        accountId,
        areWanted ? 'notices-turned-on' : 'notices-turned-off',
        set({ noNotices: areWanted ? undefined : true }),
      ),
    /** Sets a password whatever it was: for operators.
     * @throws ServiceError `conflict` for an account of the identity provider */
    setPassword: (actor: string, accountId: string, passwordHash: string) =>
      changeAccount(actor, accountId, 'password-changed', (current) => {
        requireOwnPassword(current);
        return { ...current, passwordHash };
      }),
    /**
     * Sets a new password in place of the one that was just proved, or that a reset link replaces.
     *
     * @param proved the account as it was when its password was proved, or the link was read
     * @throws ServiceError `conflict` if the password was changed meanwhile
     */
    changePassword: (
      proved: Account,
      passwordHash: string,
      action: 'password-changed' | 'password-reset' = 'password-changed',
    ) =>
      changeAccount(proved.accountId, proved.accountId, action, (current) => {
        requirePassword(current, proved, action === 'password-reset' ? LINK_USED_UP : PASSWORD_CHANGED);
        return { ...current, passwordHash };
      }),
    /**
     * Replaces the second factor; `undefined` turns it off. `change` returns the same object for no
     * change.
     *
     * @param proved the account as it was when its password was proved; absent for an operator
     * @throws ServiceError `conflict` if the password was changed meanwhile
     */
    changeTwoFactor: (
      actor: string,
      accountId: string,
      action: string,
      change: (current: TwoFactor | undefined) => TwoFactor | undefined,
      proved?: WithPassword,
    ) =>
      changeAccount(actor, accountId, action, (current) => {
        if (proved) requirePassword(current, proved, PASSWORD_CHANGED);
        return set<Account>({ twoFactor: change(current.twoFactor) })(current);
      }),
    /** Deletes the account's apps, then the account. Their keys, passwords and sessions stop
     * working. */
    async remove(actor: string, accountId: string): Promise<void> {
      const removeApps = async () => {
        for (const clientId of await clientApps.listOwned(accountId, idOf))
          await apps.remove(actor, clientId).catch(ignoreNotFound);
      };
      await removeApps();
      // A membership that this misses gives no access: it is older than a new account under the
      // same address.
      for (const clientId of await clientApps.listShared(accountId, idOf))
        await apps
          .change(actor, clientId, 'member-left', accountId, removeMember(accountId))
          .catch(ignoreNotFound);
      const deletedAt = new Date(now()).toISOString();
      await changeAccount(actor, accountId, 'account-deleted', (current) => {
        const { passwordHash: _, operator: __, twoFactor: ___, singleSignOn: ____, ...rest } = current;
        return { ...rest, deletedAt };
      });
      // A concurrent app creation rereads its account after its write, so one of the two deletes
      // the app.
      await removeApps();
    },
  };
}

const idOf = ({ clientId }: ClientApp): string => clientId;

const GRANTED = { read: 'operator-read-granted', change: 'operator-granted' } as const;

const PASSWORD_CHANGED = 'the password was changed meanwhile; sign in again';
const LINK_USED_UP = 'the password was changed meanwhile, so the link is used up';

const OTHER_PERSON =
  'the account of this address belongs to another person of the identity provider; ask an operator';
const UNVERIFIED =
  'somebody signed up with this address and a password, which does not prove that it is theirs; ask an operator';

type WithPassword = Pick<Account, 'passwordHash'>;

/** @throws ServiceError `conflict` with the message, if the password that was proved has been
 * replaced */
function requirePassword(current: WithPassword, proved: WithPassword, conflict: string): void {
  if (current.passwordHash !== proved.passwordHash) throw new ServiceError('conflict', conflict);
}

/** The owner may have deleted the app, or an operator the account, meanwhile. */
export function ignoreNotFound(error: unknown): void {
  if (!(error instanceof ServiceError) || error.code !== 'not-found') throw error;
}

/**
 * Refuses an account of the identity provider: a password beside it would keep a person in whom the
 * provider no longer lets in.
 *
 * @throws ServiceError `conflict`
 */
export function requireOwnPassword({ email, singleSignOn }: Account): void {
  if (singleSignOn === undefined) return;
  throw new ServiceError(
    'conflict',
    `${email} signs in at the identity provider and has no password; to give it one, first run \`npm run admin -- account reset-single-sign-on ${email}\``,
  );
}

/**
 * Refuses an account that signed up by itself, unless an operator vouches for it: a stranger can
 * sign up with another person's address.
 *
 * @throws ServiceError `account-unverified`
 */
export function requireVerified({ email, verified }: Account, vouch: boolean): void {
  if (vouch || verified) return;
  throw new ServiceError(
    'account-unverified',
    `${email} signed up by itself, so its owner is unverified; add --vouch if you know the owner`,
  );
}
