import { randomBytes } from 'node:crypto';
import type { Account } from '#shared/contracts/apps/client-app.ts';
import { inStore } from '#shared/redis/connect.ts';
import { credentialOf, sha256 } from '../apps/credentials.ts';
import type { Basis } from '../basis.ts';

const TOKEN_BYTES = 32;
const TOKEN = /^(acc_[0-9a-f]{24})\.[\w-]{43}$/;
const LINK_MS_MAX = 3_600_000;

/**
 * Links by which a person sets a new password in place of a forgotten one. Redis stores only the
 * SHA-256 of the token, bound to the present password: setting a new password uses the link up.
 *
 * @example
 * const { token } = await resetLinks.make('ops@example.com', account);
 * await resetLinks.find(token); // the account
 */
export function makeResetLinks({ redis, accounts, writes, now }: Basis) {
  return {
    /**
     * Makes a link's token, valid for an hour or until the password changes. An account has one
     * link: a new one replaces the one before.
     *
     * @param actor who makes it, for the audit log
     */
    async make(actor: string, account: Account): Promise<{ token: string; expiresAt: string }> {
      const { accountId } = account;
      await writes.record({ accountId, actor, action: 'reset-link-made', subject: accountId });
      const token = `${accountId}.${randomBytes(TOKEN_BYTES).toString('base64url')}`;
      const expiresAt = new Date(now() + LINK_MS_MAX).toISOString();
      await inStore(() => redis.set(keyOf(accountId), storedFor(token, account), 'PX', LINK_MS_MAX));
      return { token, expiresAt };
    },
    /** The account of a token, with the password that the link replaces; `undefined` if the token
     * is not valid. */
    async find(token: string): Promise<Account | undefined> {
      const [, accountId] = TOKEN.exec(token) ?? [];
      if (accountId === undefined) return undefined;
      const stored = await inStore(() => redis.get(keyOf(accountId)));
      if (stored === null) return undefined;
      const account = await accounts.read(accountId);
      if (!account || account.deletedAt !== undefined) return undefined;
      return stored === storedFor(token, account) ? account : undefined;
    },
  };
}

const keyOf = (accountId: string): string => `reset-link:${accountId}`;
const storedFor = (token: string, account: Account): string => `${sha256(token)} ${credentialOf(account)}`;
