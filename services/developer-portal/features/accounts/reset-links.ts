import { randomBytes } from 'node:crypto';
import type { Account } from '#shared/contracts/apps/client-app.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import type { RecordAudit } from '#shared/stores/audit/record-audit.ts';
import { credentialOf, sha256 } from '../apps/credentials.ts';

const TOKEN_BYTES = 32;
const TOKEN = /^(acc_[0-9a-f]{24})\.[\w-]{43}$/;
const LINK_MS_MAX = 3_600_000;

export type ResetLinks = {
  /**
   * Makes a link's token, valid for an hour or until the password changes. An account has one link: a new one replaces
   * the one before.
   *
   * @param actor who makes it, for the audit log
   */
  readonly make: (actor: string, account: Account) => Promise<{ token: string; expiresAt: string }>;
  /** The account of a token, with the password that the link replaces; `undefined` if the token is not valid. */
  readonly find: (token: string) => Promise<Account | undefined>;
};

type Dependencies = {
  readonly redis: Redis;
  readonly readAccount: (accountId: string) => Promise<Account | undefined>;
  readonly record: RecordAudit;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/**
 * Links by which a person sets a new password in place of a forgotten one. Redis stores only the SHA-256 of the token,
 * bound to the present password: setting a new password uses the link up.
 *
 * @example
 * const { token } = await resetLinks.make('ops@example.com', account);
 * await resetLinks.find(token); // the account
 */
export function makeResetLinks({ redis, readAccount, record, now }: Dependencies): ResetLinks {
  return {
    async make(actor, account) {
      const { accountId } = account;
      await record({ accountId, actor, action: 'reset-link-made', subject: accountId });
      const token = `${accountId}.${randomBytes(TOKEN_BYTES).toString('base64url')}`;
      const expiresAt = new Date(now() + LINK_MS_MAX).toISOString();
      await inStore(() => redis.set(keyOf(accountId), storedFor(token, account), 'PX', LINK_MS_MAX));
      return { token, expiresAt };
    },
    async find(token) {
      const [, accountId] = TOKEN.exec(token) ?? [];
      if (accountId === undefined) return undefined;
      const stored = await inStore(() => redis.get(keyOf(accountId)));
      if (stored === null) return undefined;
      const account = await readAccount(accountId);
      if (!account || account.deletedAt !== undefined) return undefined;
      return stored === storedFor(token, account) ? account : undefined;
    },
  };
}

const keyOf = (accountId: string): string => `reset-link:${accountId}`;
const storedFor = (token: string, account: Account): string => `${sha256(token)} ${credentialOf(account)}`;
