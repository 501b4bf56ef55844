import type { Account } from '#shared/contracts/apps/client-app.ts';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { inStore } from '#shared/redis/connect.ts';
import { credentialOf, idOfToken, newToken, sha256 } from '../apps/credentials.ts';
import type { Basis } from '../basis.ts';
import { requireOwnPassword } from './account-work.ts';

/**
 * Links by which a person sets a new password in place of a forgotten one. Redis stores only the
 * SHA-256 of the token, bound to the present password: setting a new password uses the link up.
 */
export function makeResetLinks({ redis, accounts, writes, now }: Basis) {
  return {
    /**
     * Makes a link's token, valid for an hour or until the password changes. An account has one
     * link: a new one replaces the one before.
     *
     * @param actor who makes it, for the audit log
     * @throws ServiceError `conflict` for an account of the identity provider
     */
    async make(actor: string, account: Account): Promise<{ token: string; expiresAt: string }> {
      requireOwnPassword(account);
      const { accountId } = account;
      await writes.record({ accountId, actor, action: 'reset-link-made', subject: accountId });
      const token = newToken(accountId);
      const expiresAt = new Date(now() + HOUR_MS).toISOString();
      await inStore(() => redis.set(keyOf(accountId), storedFor(token, account), 'PX', HOUR_MS));
      return { token, expiresAt };
    },
    /** The account of a token, with the password that the link replaces; `undefined` if the token
     * is not valid. */
    async find(token: string): Promise<Account | undefined> {
      const accountId = idOfToken(token);
      if (accountId === undefined) return undefined;
      const stored = await inStore(() => redis.get(keyOf(accountId)));
      const account = stored === null ? undefined : await accounts.read(accountId);
      if (!account || account.deletedAt !== undefined) return undefined;
      return stored === storedFor(token, account) ? account : undefined;
    },
  };
}

const keyOf = (accountId: string): string => `reset-link:${accountId}`;
const storedFor = (token: string, account: Account): string => `${sha256(token)} ${credentialOf(account)}`;
