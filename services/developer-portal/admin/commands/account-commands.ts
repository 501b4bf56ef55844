import { randomBytes } from 'node:crypto';
import { Argument, type Command, Option } from 'commander';
import { type Account, LIMITS_MAX, Tier } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { makePasswords } from '../../features/accounts/passwords.ts';
import { existing } from '../../features/basis.ts';
import { setTier, showOperatorAccount } from '../../features/operator/operate.ts';
import { adderTo, type Run, type Vouch, vouchOption, wholeNumber } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';

const PASSWORD_BYTES = 15;
/** The caller on whose behalf passwords are hashed here: no address. */
const HASHER = 'admin';

/** @throws ServiceError `not-found` */
export const findAccount = async ({ accounts }: OpenSystem, email: string): Promise<Account> =>
  existing(await accounts.findByEmail(email), `there is no account ${email}`);

/** The account of an address, whose owner an operator knows.
 * @throws ServiceError `not-found`, `account-unverified` */
async function accountOf(system: OpenSystem, email: string, { vouch }: Vouch): Promise<Account> {
  const { accountId } = await findAccount(system, email);
  return system.accountWork.verify(system.actor, accountId, vouch);
}

async function newPassword() {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  return { password, passwordHash: await makePasswords().hash(password, HASHER) };
}

/** Ensures that an operator can sign in with this password, or at the identity provider; writes
 * nothing if that is so already. */
export async function ensureOperator(
  { accountWork, actor }: OpenSystem,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<void> {
  const passwords = makePasswords();
  const { accountId } = await accountWork.ensure(actor, email, { verified: true });
  const known = await accountWork.verify(actor, accountId, true);
  const canSignIn =
    known.singleSignOn !== undefined || (await passwords.verify(password, known.passwordHash, HASHER));
  if (known.operator === 'change' && canSignIn) return;
  await accountWork.grantOperator(actor, accountId, await passwords.hash(password, HASHER), 'change');
}

export function addAccounts(program: Command, run: Run): void {
  const account = program.command('account').description("developers' and operators' accounts of the portal");
  const add = adderTo(account, run);
  add('list', async (system, { query }: { query: string }) => {
    const found = (await system.accounts.list()).filter(({ email }) =>
      email.toLowerCase().includes(query.toLowerCase()),
    );
    return Promise.all(
      found.map(async (one) => {
        const { verified, createdAt } = one;
        return { ...(await showOperatorAccount(system, one)), verified, createdAt };
      }),
    );
  })
    .description('list all accounts, by e-mail address')
    .option('--query <text>', 'only addresses that contain this text', '');
  const act = <O extends object>(
    name: string,
    work: (system: OpenSystem, account: Account, options: O & Vouch) => Promise<object>,
  ) =>
    add(`${name} <email>`, async (system, email: string, options: O & Vouch) => ({
      email,
      ...(await work(system, await accountOf(system, email, options), options)),
    })).addOption(vouchOption());
  act<{ withdraw: boolean; readOnly: boolean }>(
    'operator',
    async ({ accountWork, actor }, { accountId }, { withdraw, readOnly }) => {
      if (withdraw) await accountWork.withdrawOperator(actor, accountId);
      if (withdraw) return { accountId, operator: false };
      const { password, passwordHash } = await newPassword();
      const operatorRights = readOnly ? 'read' : 'change';
      await accountWork.grantOperator(actor, accountId, passwordHash, operatorRights);
      return { accountId, operator: true, operatorRights, password };
    },
  )
    .description(
      'allow an account to see all accounts and apps in the portal, approve scopes, set tiers and suspend apps; ends its sessions and prints a new password',
    )
    .option('--read-only', 'allow it to see, and to change nothing', false)
    .option('--withdraw', 'withdraw the operator rights', false);
  act('reset-password', async ({ accountWork, actor }, { accountId }) => {
    const { password, passwordHash } = await newPassword();
    await accountWork.setPassword(actor, accountId, passwordHash);
    return { password };
  }).description('set a new password for an account, print it once, and end its sessions');
  act('reset-link', async ({ resetLinks, portalOrigin, actor }, one) => {
    const { token, expiresAt } = await resetLinks.make(actor, one);
    return { link: `${portalOrigin}/reset-password#${token}`, expiresAt };
  }).description(
    'make a link for a new password, valid for an hour; without PORTAL_ORIGIN the link is a path of the portal',
  );
  act('reset-two-factor', async ({ twoFactor, actor }, one) => {
    await twoFactor.reset(actor, one);
    return { accountId: one.accountId, twoFactor: false };
  }).description('turn the second factor of an account off and end its sessions; the password stays');
  act('reset-single-sign-on', async ({ accountWork, actor }, { accountId }) => {
    await accountWork.resetSingleSignOn(actor, accountId);
    return { accountId, singleSignOn: false };
  }).description('let the next person of the identity provider who has the address join the account');
  act('delete', async ({ accountWork, actor }, { accountId }) => {
    await accountWork.remove(actor, accountId);
    return { accountId, deleted: true };
  }).description('delete an account and its client apps');
  addTiers(program, run);
}

const LIMIT_OPTIONS = [
  ['rps', 'requestsPerSecond', 'requests per second of each app'],
  ['month', 'requestsPerMonth', 'checks per month of each app'],
  ['apps', 'clientApps', 'client apps'],
  ['keys', 'marketplaceKeys', 'marketplace keys'],
  ['live-keys', 'liveKeys', 'live keys of each app'],
  ['rule-sets', 'ruleSets', 'rule sets of each app'],
  ['watches', 'watches', 'watches of each app'],
  ['members', 'watchMembers', 'members of all watches of each app'],
  ['writes', 'writesPerDay', 'writes of rule sets, watches and members of each app in a day'],
] as const;

function addTiers(program: Command, run: Run): void {
  const tier = program.command('tier').description("accounts' tiers");
  const set = adderTo(tier, run)(
    'set <email>',
    async (system, email: string, tier: Tier, options: Vouch & Record<string, number | undefined>) => {
      const given = LIMIT_OPTIONS.flatMap(([flag, limit]) => {
        const value = options[new Option(`--${flag}`).attributeName()];
        return value === undefined ? [] : [[limit, value] as const];
      });
      if (tier !== 'enterprise' && given.length > 0)
        throw new ServiceError('usage-invalid', 'only enterprise accounts have limits of their own');
      const { accountId } = await accountOf(system, email, options);
      return setTier(system, system.actor, accountId, tier, Object.fromEntries(given));
    },
  )
    .description('set the tier of an account and the limits of all its apps')
    .addArgument(new Argument('<tier>').choices(Tier.options))
    .addOption(vouchOption());
  for (const [flag, limit, words] of LIMIT_OPTIONS)
    set.option(
      `--${flag} <n>`,
      `enterprise: ${words}, at most ${LIMITS_MAX[limit]}`,
      wholeNumber(1, LIMITS_MAX[limit]),
    );
}
