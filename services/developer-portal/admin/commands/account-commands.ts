import { randomBytes } from 'node:crypto';
import { type Command, InvalidArgumentError } from 'commander';
import { type Account, LIVE_KEYS_MAX, Tier } from '#shared/contracts/apps/client-app.ts';
import { RULE_SETS_MAX, WATCH_MEMBERS_MAX, WATCHES_MAX } from '#shared/contracts/apps/tiers.ts';
import { ServiceError } from '#shared/errors.ts';
import { ALL_TRAIL_COUNT_MAX, TRAIL_COUNT_MAX } from '#shared/stores/audit/audit-trail.ts';
import { makePasswords } from '../../features/accounts/passwords.ts';
import { pageAudit, setTier, showOperatorAccount } from '../../features/operator/operate.ts';
import { ACTOR, figure, figureUpTo, instant, type Run, type Vouch, vouchOption } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';

const PASSWORD_BYTES = 15;
const AUDIT_LISTED_COUNT = 50;

/** The account of an address, whose owner an operator knows.
 * @throws ServiceError `not-found`, `account-unverified` */
async function accountOf(
  { accounts, accountWork }: OpenSystem,
  email: string,
  { vouch }: Vouch,
): Promise<Account> {
  const known = await accounts.findByEmail(email);
  if (!known) throw new ServiceError('not-found', `there is no account ${email}`);
  return accountWork.verify(ACTOR, known.accountId, vouch);
}

async function newPassword() {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  return { password, passwordHash: await makePasswords().hash(password, ACTOR) };
}

/** Ensures that an operator can sign in with this password; writes nothing if that is so
 * already. */
export async function ensureOperator(
  { accountWork }: OpenSystem,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<void> {
  const passwords = makePasswords();
  const { accountId } = await accountWork.ensure(ACTOR, email, { verified: true });
  const known = await accountWork.verify(ACTOR, accountId, true);
  if (known.operator && (await passwords.verify(password, known.passwordHash, ACTOR))) return;
  await accountWork.grantOperator(ACTOR, accountId, await passwords.hash(password, ACTOR));
}

export function addAccounts(program: Command, run: Run): void {
  const account = program.command('account').description("developers' and operators' accounts of the portal");
  account
    .command('list')
    .description('list all accounts, by e-mail address')
    .option('--query <text>', 'only addresses that contain this text', '')
    .action(({ query }: { query: string }) =>
      run(async (system) => {
        const found = (await system.accounts.list()).filter(({ email }) =>
          email.toLowerCase().includes(query.toLowerCase()),
        );
        return Promise.all(
          found.map(async (one) => ({
            ...(await showOperatorAccount(system, one)),
            verified: one.verified,
            createdAt: one.createdAt,
          })),
        );
      }),
    );
  /** A subcommand about the account of an address. */
  const act = <O extends object>(
    name: string,
    description: string,
    work: (system: OpenSystem, account: Account, options: O & Vouch) => Promise<object>,
  ) =>
    account
      .command(`${name} <email>`)
      .description(description)
      .addOption(vouchOption())
      .action((email: string, options: O & Vouch) =>
        run(async (system) => ({
          email,
          ...(await work(system, await accountOf(system, email, options), options)),
        })),
      );
  act<{ withdraw: boolean }>(
    'operator',
    'allow an account to approve scopes, set tiers and suspend apps in the portal; ends its sessions and prints a new password',
    async ({ accountWork }, { accountId }, { withdraw }) => {
      if (withdraw) await accountWork.withdrawOperator(ACTOR, accountId);
      if (withdraw) return { accountId, operator: false };
      const { password, passwordHash } = await newPassword();
      await accountWork.grantOperator(ACTOR, accountId, passwordHash);
      return { accountId, operator: true, password };
    },
  ).option('--withdraw', 'withdraw the operator rights', false);
  act(
    'reset-password',
    'set a new password for an account, print it once, and end its sessions',
    async ({ accountWork }, { accountId }) => {
      const { password, passwordHash } = await newPassword();
      await accountWork.setPassword(ACTOR, accountId, passwordHash);
      return { password };
    },
  );
  act(
    'reset-link',
    'make a link for a new password, valid for an hour; without PORTAL_ORIGIN the link is a path of the portal',
    async ({ resetLinks, portalOrigin }, one) => {
      const { token, expiresAt } = await resetLinks.make(ACTOR, one);
      return { link: `${portalOrigin}/reset-password#${token}`, expiresAt };
    },
  );
  act(
    'reset-two-factor',
    'turn the second factor of an account off and end its sessions; the password stays',
    async ({ twoFactor }, one) => {
      await twoFactor.disable(ACTOR, one, 'two-factor-reset');
      return { accountId: one.accountId, twoFactor: false };
    },
  );
  act('delete', 'delete an account and its client apps', async ({ accountWork }, { accountId }) => {
    await accountWork.remove(ACTOR, accountId);
    return { accountId, deleted: true };
  });
  addTiers(program, run);
  addAudit(program, run);
}

function addTiers(program: Command, run: Run): void {
  program
    .command('tier')
    .description("accounts' tiers")
    .command('set <email>')
    .description('set the tier of an account and the limits of all its apps')
    .argument('<tier>', 'free, paid or enterprise', (text) => {
      const { data } = Tier.safeParse(text);
      if (data === undefined) throw new InvalidArgumentError('It must be free, paid or enterprise.');
      return data;
    })
    .option('--rps <n>', 'enterprise: requests per second of each app', figure)
    .option('--month <n>', 'enterprise: checks per month of each app', figure)
    .option('--apps <n>', 'enterprise: client apps', figure)
    .option('--keys <n>', 'enterprise: marketplace keys', figure)
    .option(
      '--live-keys <n>',
      `enterprise: live keys of each app, at most ${LIVE_KEYS_MAX}`,
      figureUpTo(LIVE_KEYS_MAX),
    )
    .option(
      '--rule-sets <n>',
      `enterprise: rule sets of each app, at most ${RULE_SETS_MAX}`,
      figureUpTo(RULE_SETS_MAX),
    )
    .option(
      '--watches <n>',
      `enterprise: watches of each app, at most ${WATCHES_MAX}`,
      figureUpTo(WATCHES_MAX),
    )
    .option(
      '--members <n>',
      `enterprise: members of all watches of each app, at most ${WATCH_MEMBERS_MAX}`,
      figureUpTo(WATCH_MEMBERS_MAX),
    )
    .option(
      '--writes <n>',
      'enterprise: writes of rule sets, watches and members of each app in a day',
      figure,
    )
    .addOption(vouchOption())
    .action((email: string, tier: Tier, { vouch, ...figures }: Vouch & Record<string, number | undefined>) =>
      run(async (system) => {
        if (tier !== 'enterprise' && Object.values(figures).some((value) => value !== undefined))
          throw new ServiceError('usage-invalid', 'only enterprise accounts have limits of their own');
        const { accountId } = await accountOf(system, email, { vouch });
        return setTier(system, ACTOR, accountId, tier, {
          requestsPerSecond: figures['rps'],
          requestsPerMonth: figures['month'],
          clientApps: figures['apps'],
          marketplaceKeys: figures['keys'],
          liveKeys: figures['liveKeys'],
          ruleSets: figures['ruleSets'],
          watches: figures['watches'],
          watchMembers: figures['members'],
          writesPerDay: figures['writes'],
        });
      }),
    );
}

function addAudit(program: Command, run: Run): void {
  program
    .command('audit')
    .description('audit entries of accounts and apps')
    .command('list')
    .description(
      `list audit entries, newest first; kept are ${TRAIL_COUNT_MAX} of each account and of each app, and ${ALL_TRAIL_COUNT_MAX} of all`,
    )
    .option('--account <account>', "an account's e-mail address or id")
    .option('--app <id>', 'a client id')
    .option('--action <action>', 'an action such as key-revoked')
    .option('--since <instant>', 'only entries of this instant or later', instant)
    .option('--until <instant>', 'only entries of this instant or earlier', instant)
    .option(
      '--limit <n>',
      `entries, at most ${TRAIL_COUNT_MAX}`,
      figureUpTo(TRAIL_COUNT_MAX),
      AUDIT_LISTED_COUNT,
    )
    .action(({ since, until, ...filters }) =>
      run(
        async (system) => (await pageAudit(system, { ...filters, sinceMs: since, untilMs: until })).entries,
      ),
    );
}
