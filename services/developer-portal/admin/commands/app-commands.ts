import { type Command, Option } from 'commander';
import { type Account, type KeyPermission, Tier } from '#shared/contracts/apps/client-app.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { ServiceError } from '#shared/errors.ts';
import { ignoreNotFound } from '../../features/accounts/account-work.ts';
import {
  type Credentials,
  mayHave,
  newCredentials,
  newKey,
  newWebhookSecret,
} from '../../features/apps/credentials.ts';
import { listScopeRequests, showOperatorApp } from '../../features/operator/operate.ts';
import { withUse } from '../../features/present.ts';
import { Email, KeyAnswer, lines, Name, REASON_CHARS_MAX } from '../../http/api.ts';
import {
  addGroup,
  duration,
  formText,
  keyPermissions,
  type Run,
  signInDomains,
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
  for (const reseal of reseals) await reseal().then(() => count++, ignoreNotFound);
  return { count };
}

export function addApps(program: Command, run: Run): void {
  const add = addGroup(program, run, 'app', 'client apps');
  add('create', createApp)
    .description('create a client app; prints its credentials once')
    .requiredOption('--email <address>', 'e-mail address of the account; created if missing', formText(Email))
    .requiredOption('--name <name>', 'name of the app', formText(Name))
    .addOption(new Option('--tier <tier>', "the account's tier").choices(Tier.options))
    .option('--approve', 'approve the token-gating scope at once', false)
    .addOption(vouchOption());
  add('list', async (system) => {
    const found = await system.clientApps.list((one) => one);
    return Promise.all(found.map((one) => showOperatorApp(system, one)));
  }).description('list all client apps, oldest first');
  const changed =
    (name: 'suspend' | 'resume' | 'approveScope' | 'rejectScope') =>
    async (system: OpenSystem, id: string, { reason = '' }: { reason?: string }) =>
      showOperatorApp(system, await system.apps[name](system.actor, id, reason));
  add('suspend <id>', changed('suspend')).description(
    'refuse the requests of an app with 403 until it is resumed',
  );
  add('resume <id>', changed('resume')).description('end a suspension');
  add('delete <id>', async ({ apps, actor }, clientId: string) => {
    await apps.remove(actor, clientId);
    return { clientId, deleted: true };
  }).description('delete an app and revoke its keys; accepted checks are still delivered');
  add('domains <id>', async ({ apps, actor }, id: string, { set }: { set?: readonly string[] }) => {
    const app = set ? await apps.setDomains(actor, id, set) : await apps.read(id);
    return { domains: app.domains ?? [] };
  })
    .description('print the domains that sign-in messages of an app may be for, or set them')
    .option(
      '--set <domains>',
      'hosts, with their ports where they have one, with commas; an empty text ends signing in',
      signInDomains,
    );
  const addScope = addGroup(program, run, 'scope', 'requests for the token-gating scope');
  addScope('list', listScopeRequests).description('list the apps that requested the scope');
  addScope('approve <id>', changed('approveScope')).description('allow the app to request checks');
  addScope('reject <id>', changed('rejectScope'))
    .description('refuse the request, with a reason')
    .requiredOption(
      '--reason <text>',
      'the reason shown to the developer',
      formText(lines(REASON_CHARS_MAX)),
    );
  addKeys(program, run);
}

type CreateKey = { name: string; marketplace: boolean; permissions?: KeyPermission[] };

function addKeys(program: Command, run: Run): void {
  const addKey = addGroup(program, run, 'key', 'API keys of a client app');
  addKey('create <id>', async ({ apps, actor }, id: string, options: CreateKey) => {
    if (!mayHave(options.marketplace, options.permissions))
      throw new ServiceError('usage-invalid', 'a marketplace key has the permission check alone');
    const made = newKey();
    await apps.createKey(actor, id, made, options);
    return made;
  })
    .description('create an API key; prints it once')
    .option('--name <name>', 'name of the key', formText(Name), 'key')
    .option('--marketplace', 'a key for a third party; counts against the limit of the account', false)
    .option(
      '--permissions <list>',
      'of check, read and manage, such as check,read; default: all, of a marketplace key check alone',
      keyPermissions,
    );
  addKey('list <id>', async ({ apps, keyUse }, id: string) => {
    const [{ keys }, usedAt] = [await apps.read(id), await keyUse.read(id)];
    return withUse(keys, usedAt).map((one) => KeyAnswer.parse(one));
  }).description('list the keys of an app, including revoked keys');
  addKey('revoke <id> <key>', async ({ apps, actor }, id: string, keyId: string) => {
    await apps.revokeKey(actor, id, keyId);
    return { keyId, revoked: true };
  }).description('revoke a key; requests with it are refused within a second');
  const addSecret = addGroup(program, run, 'secret', 'webhook secrets');
  addSecret('reseal', resealSecrets).description(
    'encrypt all stored secrets again with the newest key of ROLECALL_SECRET_KEYS; their values stay the same',
  );
  addSecret('rotate <id>', async ({ apps, actor }, id: string, { overlap }: { overlap: number }) => {
    await apps.read(id);
    const webhookSecret = newWebhookSecret();
    await apps.rotateSecret(actor, id, apps.seal(id, webhookSecret), overlap);
    return { webhookSecret };
  })
    .description('create a new webhook secret; prints it once; earlier secrets sign for the overlap')
    .option('--overlap <duration>', 'how long the earlier secrets still sign', duration, DAY_MS);
}
