import { randomBytes } from 'node:crypto';
import { type Command, InvalidArgumentError } from 'commander';
import { type Account, LIVE_KEYS_MAX, Tier } from '#shared/contracts/apps/client-app.ts';
import { RULE_SETS_MAX, WATCH_MEMBERS_MAX, WATCHES_MAX } from '#shared/contracts/apps/tiers.ts';
import { ServiceError } from '#shared/errors.ts';
import { makePasswords } from '../../features/accounts/passwords.ts';
import { setTier, showOperatorAccount } from '../../features/operator/operate.ts';
import { figure, figureUpTo, type Run, type Vouch, vouchOption } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';

const PASSWORD_BYTES = 15;
/** The caller on whose behalf passwords are hashed here: no address. */
const HASHER = 'admin';

/** The account of an address, whose owner an operator knows.
 * @throws ServiceError `not-found`, `account-unverified` */
async function accountOf(
  { accounts, accountWork, actor }: OpenSystem,
  email: string,
  { vouch }: Vouch,
): Promise<Account> {
  const known = await accounts.findByEmail(email);
  if (!known) throw new ServiceError('not-found', `there is no account ${email}`);
  return accountWork.verify(actor, known.accountId, vouch);
}

async function newPassword() {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  return { password, passwordHash: await makePasswords().hash(password, HASHER) };
}

/** Ensures that an operator can sign in with this password; writes nothing if that is so
 * already. */
export async function ensureOperator(
  { accountWork, actor }: OpenSystem,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<void> {
  const passwords = makePasswords();
  const { accountId } = await accountWork.ensure(actor, email, { verified: true });
  const known = await accountWork.verify(actor, accountId, true);
  if (known.operator === 'change' && (await passwords.verify(password, known.passwordHash, HASHER))) return;
  await accountWork.grantOperator(actor, accountId, await passwords.hash(password, HASHER), 'change');
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
  act<{ withdraw: boolean; readOnly: boolean }>(
    'operator',
    'allow an account to see all accounts and apps in the portal, approve scopes, set tiers and suspend apps; ends its sessions and prints a new password',
    async ({ accountWork, actor }, { accountId }, { withdraw, readOnly }) => {
      if (withdraw) await accountWork.withdrawOperator(actor, accountId);
      if (withdraw) return { accountId, operator: false };
      const { password, passwordHash } = await newPassword();
      const operatorRights = readOnly ? 'read' : 'change';
      await accountWork.grantOperator(actor, accountId, passwordHash, operatorRights);
      return { accountId, operator: true, operatorRights, password };
    },
  )
    .option('--read-only', 'allow it to see, and to change nothing', false)
    .option('--withdraw', 'withdraw the operator rights', false);
  act(
    'reset-password',
    'set a new password for an account, print it once, and end its sessions',
    async ({ accountWork, actor }, { accountId }) => {
      const { password, passwordHash } = await newPassword();
      await accountWork.setPassword(actor, accountId, passwordHash);
      return { password };
    },
  );
  act(
    'reset-link',
    'make a link for a new password, valid for an hour; without PORTAL_ORIGIN the link is a path of the portal',
    async ({ resetLinks, portalOrigin, actor }, one) => {
      const { token, expiresAt } = await resetLinks.make(actor, one);
      return { link: `${portalOrigin}/reset-password#${token}`, expiresAt };
    },
  );
  act(
    'reset-two-factor',
    'turn the second factor of an account off and end its sessions; the password stays',
    async ({ twoFactor, actor }, one) => {
      await twoFactor.disable(actor, one, 'two-factor-reset');
      return { accountId: one.accountId, twoFactor: false };
    },
  );
  act(
    'reset-single-sign-on',
    'let the next person of the identity provider who has the address join the account',
    async ({ accountWork, actor }, { accountId }) => {
      await accountWork.resetSingleSignOn(actor, accountId);
      return { accountId, singleSignOn: false };
    },
  );
  act('delete', 'delete an account and its client apps', async ({ accountWork, actor }, { accountId }) => {
    await accountWork.remove(actor, accountId);
    return { accountId, deleted: true };
  });
  addTiers(program, run);
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
        return setTier(system, system.actor, accountId, tier, {
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
