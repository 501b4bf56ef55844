import { type Command, Option } from 'commander';
import { type Account, type ClientApp, type KeyPermission, Tier } from '#shared/contracts/apps/client-app.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { ServiceError } from '#shared/errors.ts';
import {
  type Credentials,
  mayHave,
  newCredentials,
  newKey,
  newWebhookSecret,
} from '../../features/apps/credentials.ts';
import { listScopeRequests, showOperatorApp } from '../../features/operator/operate.ts';
import { withUse } from '../../features/present.ts';
import { KeyAnswer, NAME_CHARS_MAX, REASON_CHARS_MAX } from '../../http/api.ts';
import {
  duration,
  emailAddress,
  keyPermissions,
  type Run,
  signInDomains,
  textUpTo,
  type Vouch,
  vouchOption,
} from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';

type CreateApp = Vouch & {
  readonly email: string;
  readonly name: string;
  readonly tier?: Tier;
  readonly limits?: Account['limits'];
  readonly approve: boolean;
  /** Credentials to use instead of new ones. */
  readonly credentials?: Credentials;
};

/**
 * Creates a client app, and its account if it is missing. Sets the account's tier if one is given.
 *
 * @throws ServiceError `account-unverified` if the account signed up by itself and `vouch` is false
 */
export async function createApp(
  { apps, accountWork, actor }: OpenSystem,
  request: CreateApp,
): Promise<Credentials> {
  const { email, name, tier, limits, approve, vouch } = request;
  const made = { verified: true, ...(tier && { tier }), ...(limits && { limits }) };
  const { accountId } = await accountWork.ensure(actor, email, made);
  let owner = await accountWork.verify(actor, accountId, vouch);
  if ((tier !== undefined && tier !== owner.tier) || limits !== undefined)
    owner = await accountWork.setTier(actor, accountId, tier ?? owner.tier, limits);
  const credentials = request.credentials ?? newCredentials();
  const scope = approve ? 'approved' : 'requested';
  await apps.create(actor, { owner, name, scope, credentials, keyId: newKey().keyId });
  return credentials;
}

/** Encrypts every secret of apps and accounts again with the newest key; the secrets stay the
 * same. */
async function resealSecrets({ apps, clientApps, accounts, twoFactor, actor }: OpenSystem) {
  const [ids, owners] = await Promise.all([clientApps.list(({ clientId }) => clientId), accounts.list()]);
  const reseals = [
    ...ids.map((clientId) => () => apps.resealSecrets(actor, clientId)),
    ...owners.flatMap((owner) => (owner.twoFactor ? [() => twoFactor.reseal(actor, owner)] : [])),
  ];
  let count = 0;
  for (const reseal of reseals)
    try {
      await reseal();
      count++;
    } catch (error) {
      // The app or the account was deleted meanwhile.
      if (!(error instanceof ServiceError) || error.code !== 'not-found') throw error;
    }
  return { count };
}

export function addApps(program: Command, run: Run): void {
  const app = program.command('app').description('client apps');
  app
    .command('create')
    .description('create a client app; prints its credentials once')
    .requiredOption('--email <address>', 'e-mail address of the account; created if missing', emailAddress)
    .requiredOption('--name <name>', 'name of the app', textUpTo(NAME_CHARS_MAX))
    .addOption(new Option('--tier <tier>', "the account's tier").choices(Tier.options))
    .option('--approve', 'approve the token-gating scope at once', false)
    .addOption(vouchOption())
    .action((options) => run((system) => createApp(system, options)));
  app
    .command('list')
    .description('list all client apps, oldest first')
    .action(() =>
      run(async (system) => {
        const found = await system.clientApps.list((one) => one);
        return Promise.all(found.map((one) => showOperatorApp(system, one)));
      }),
    );
  /** A subcommand that changes an app, which is printed as it is then. */
  const change = (
    command: Command,
    name: string,
    description: string,
    work: (system: OpenSystem, id: string, options: { reason: string }) => Promise<ClientApp>,
  ) =>
    command
      .command(`${name} <id>`)
      .description(description)
      .action((id, options) =>
        run(async (system) => showOperatorApp(system, await work(system, id, options))),
      );
  change(
    app,
    'suspend',
    'refuse the requests of an app with 403 until it is resumed',
    ({ apps, actor }, id) => apps.suspend(actor, id),
  );
  change(app, 'resume', 'end a suspension', ({ apps, actor }, id) => apps.resume(actor, id));
  app
    .command('delete <id>')
    .description('delete an app and revoke its keys; accepted checks are still delivered')
    .action((clientId) =>
      run(async ({ apps, actor }) => {
        await apps.remove(actor, clientId);
        return { clientId, deleted: true };
      }),
    );
  app
    .command('domains <id>')
    .description('print the domains that sign-in messages of an app may be for, or set them')
    .option(
      '--set <domains>',
      'hosts, with their ports where they have one, with commas; an empty text ends signing in',
      signInDomains,
    )
    .action((clientId, { set }: { set?: readonly string[] }) =>
      run(async ({ apps, actor }) => {
        const app = set ? await apps.setDomains(actor, clientId, set) : await apps.read(clientId);
        return { domains: app.domains ?? [] };
      }),
    );
  const scope = program.command('scope').description('requests for the token-gating scope');
  scope
    .command('list')
    .description('list the apps that requested the scope')
    .action(() => run(listScopeRequests));
  change(scope, 'approve', 'allow the app to request checks', ({ apps, actor }, id) =>
    apps.approveScope(actor, id),
  );
  change(scope, 'reject', 'refuse the request, with a reason', ({ apps, actor }, id, { reason }) =>
    apps.rejectScope(actor, id, reason),
  ).requiredOption('--reason <text>', 'the reason shown to the developer', textUpTo(REASON_CHARS_MAX));
  addKeys(program, run);
}

function addKeys(program: Command, run: Run): void {
  const key = program.command('key').description('API keys of a client app');
  key
    .command('create <id>')
    .description('create an API key; prints it once')
    .option('--name <name>', 'name of the key', textUpTo(NAME_CHARS_MAX), 'key')
    .option('--marketplace', 'a key for a third party; counts against the limit of the account', false)
    .option(
      '--permissions <list>',
      'of check, read and manage, such as check,read; default: all, of a marketplace key check alone',
      keyPermissions,
    )
    .action((id, options: { name: string; marketplace: boolean; permissions?: KeyPermission[] }) =>
      run(async ({ apps, actor }) => {
        if (!mayHave(options.marketplace, options.permissions))
          throw new ServiceError('usage-invalid', 'a marketplace key has the permission check alone');
        const made = newKey();
        await apps.createKey(actor, id, made, options);
        return made;
      }),
    );
  key
    .command('list <id>')
    .description('list the keys of an app, including revoked keys')
    .action((id) =>
      run(async ({ apps, keyUse }) => {
        const [{ keys }, usedAt] = [await apps.read(id), await keyUse.read(id)];
        return withUse(keys, usedAt).map((one) => KeyAnswer.parse(one));
      }),
    );
  key
    .command('revoke <id> <key>')
    .description('revoke a key; requests with it are refused within a second')
    .action((id, keyId) =>
      run(async ({ apps, actor }) => {
        await apps.revokeKey(actor, id, keyId);
        return { keyId, revoked: true };
      }),
    );
  const secret = program.command('secret').description('webhook secrets');
  secret
    .command('reseal')
    .description(
      'encrypt all stored secrets again with the newest key of ROLECALL_SECRET_KEYS; their values stay the same',
    )
    .action(() => run(resealSecrets));
  secret
    .command('rotate <id>')
    .description('create a new webhook secret; prints it once; earlier secrets sign for the overlap')
    .option('--overlap <duration>', 'how long the earlier secrets still sign', duration, DAY_MS)
    .action((id, { overlap }) =>
      run(async ({ apps, actor }) => {
        await apps.read(id);
        const webhookSecret = newWebhookSecret();
        await apps.rotateSecret(actor, id, apps.seal(id, webhookSecret), overlap);
        return { webhookSecret };
      }),
    );
}
