import { Account } from '#shared/contracts/client-app.ts';
import { inStore, type Redis } from './connect.ts';
import { makeScript } from './script.ts';
import { EVERYDAY, GENERATION_KEY, REQUIRE_VIEW, type ViewAccess } from './view.ts';

const ACCOUNTS_KEY = 'accounts';
const EMAILS_KEY = 'accounts:by-email';

const PROJECT = `${REQUIRE_VIEW}
local stored = redis.call('HGET', KEYS[2], ARGV[2])
if stored then
  local version = tonumber(string.match(stored, '^(%d+) '))
  if version >= tonumber(ARGV[3]) then return 0 end
end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3] .. ' ' .. ARGV[4])
redis.call('HSET', KEYS[3], ARGV[5], ARGV[2])
return 1
`;

/** The view of the accounts. */
export type Accounts = {
  readonly findByEmail: (email: string) => Promise<Account | undefined>;
  readonly read: (accountId: string) => Promise<Account | undefined>;
  readonly project: (account: Account, access?: ViewAccess) => Promise<boolean>;
};

/** E-mail addresses are compared without regard to case. */
export function makeAccounts(redis: Redis): Accounts {
  const project = makeScript<number>(redis, 'projectAccount', PROJECT);
  const read = async (accountId: string) => parse(await inStore(() => redis.hget(ACCOUNTS_KEY, accountId)));
  return {
    read,
    async findByEmail(email) {
      const accountId = await inStore(() => redis.hget(EMAILS_KEY, email.toLowerCase()));
      return accountId === null ? undefined : read(accountId);
    },
    async project(account, access = EVERYDAY) {
      const args = [
        access,
        account.accountId,
        account.version,
        JSON.stringify(account),
        account.email.toLowerCase(),
      ];
      return (await project([GENERATION_KEY, ACCOUNTS_KEY, EMAILS_KEY], args)) === 1;
    },
  };
}

const parse = (stored: string | null): Account | undefined =>
  stored === null ? undefined : Account.parse(JSON.parse(stored.slice(stored.indexOf(' ') + 1)));
