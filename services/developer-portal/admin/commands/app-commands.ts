import type { Account, ClientApp, Tier } from '#shared/contracts/apps/client-app.ts';
import { enterpriseLimits } from '#shared/contracts/apps/tiers.ts';
import { ServiceError } from '#shared/errors.ts';
import { isUsable } from '../../domain/change-app.ts';
import {
  type Credentials,
  newCredentials,
  newKey,
  newWebhookSecret,
} from '../../features/apps/credentials.ts';
import type { OpenSystem } from '../open-system.ts';

/** Commands about client apps, their keys, secrets and scopes; each value is the output of `--json`. */

/** The actor of this command's entries in the audit log. */
export const ACTOR = 'operator';

/** Whether the operator confirms that the owner of the account is known. */
export type Vouch = { readonly vouch: boolean };

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
export async function createApp({ apps, accountWork }: OpenSystem, request: CreateApp): Promise<Credentials> {
  const { email, name, tier, limits, approve, vouch } = request;
  const made = { verified: true, ...(tier && { tier }), ...(limits && { limits }) };
  const { accountId } = await accountWork.ensure(ACTOR, email, made);
  let owner = await accountWork.verify(ACTOR, accountId, vouch);
  const isOtherTier = tier !== undefined && tier !== owner.tier;
  const areOtherLimits = limits !== undefined && JSON.stringify(limits) !== JSON.stringify(owner.limits);
  if (isOtherTier || areOtherLimits)
    owner = await accountWork.setTier(ACTOR, owner.accountId, tier ?? owner.tier, limits);
  const credentials = request.credentials ?? newCredentials();
  await apps.create(ACTOR, {
    owner,
    name,
    scope: approve ? 'approved' : 'requested',
    credentials,
    keyId: newKey().keyId,
  });
  return credentials;
}

export async function listApps(system: OpenSystem) {
  const found = await system.clientApps.list((app) => app);
  return Promise.all(found.map((app) => summaryOf(system, app)));
}

/** Apps whose scope request waits for an operator. */
export async function listScopes(system: OpenSystem) {
  const found = await system.clientApps.list((app) => (app.scope === 'requested' ? [app] : []));
  return Promise.all(found.flat().map((app) => summaryOf(system, app)));
}

export const suspendApp = async (system: OpenSystem, clientId: string) =>
  summaryOf(system, await system.apps.suspend(ACTOR, clientId));

export const resumeApp = async (system: OpenSystem, clientId: string) =>
  summaryOf(system, await system.apps.resume(ACTOR, clientId));

export const approveScope = async (system: OpenSystem, clientId: string) =>
  summaryOf(system, await system.apps.approveScope(ACTOR, clientId));

export const rejectScope = async (system: OpenSystem, clientId: string, reason: string) =>
  summaryOf(system, await system.apps.rejectScope(ACTOR, clientId, reason));

export async function deleteApp({ apps }: OpenSystem, clientId: string) {
  await apps.remove(ACTOR, clientId);
  return { clientId, deleted: true };
}

export async function createKey(
  { apps }: OpenSystem,
  clientId: string,
  options: { readonly name: string; readonly marketplace: boolean },
) {
  const key = newKey();
  await apps.createKey(ACTOR, clientId, key, options);
  return key;
}

export async function listKeys({ apps, keyUse }: OpenSystem, clientId: string) {
  const { keys } = await apps.read(clientId);
  const usedAt = await keyUse.read(clientId);
  return keys.map(({ hash: _, ...shown }) => ({ ...shown, lastUsedAt: usedAt[shown.keyId] ?? null }));
}

export async function revokeKey({ apps }: OpenSystem, clientId: string, keyId: string) {
  await apps.revokeKey(ACTOR, clientId, keyId);
  return { keyId, revoked: true };
}

export async function rotateSecret({ apps }: OpenSystem, clientId: string, overlapMs: number) {
  await apps.read(clientId);
  const webhookSecret = newWebhookSecret();
  await apps.rotateSecret(ACTOR, clientId, apps.seal(clientId, webhookSecret), overlapMs);
  return { webhookSecret };
}

/** Encrypts every app's secrets again with the newest key; the secrets stay the same. */
export async function resealSecrets({ apps, clientApps, accounts, twoFactor }: OpenSystem) {
  const [ids, owners] = await Promise.all([clientApps.list(({ clientId }) => clientId), accounts.list()]);
  const reseals = [
    ...ids.map((clientId) => () => apps.resealSecrets(ACTOR, clientId)),
    ...owners.flatMap((owner) => (owner.twoFactor ? [() => twoFactor.reseal(ACTOR, owner)] : [])),
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

type TierFigures = {
  readonly rps?: number;
  readonly month?: number;
  readonly apps?: number;
  readonly keys?: number;
  readonly liveKeys?: number;
  readonly ruleSets?: number;
  readonly watches?: number;
  readonly members?: number;
  readonly writes?: number;
};

/**
 * Sets an account's tier. An enterprise account may have its own limits; the others are the tier's defaults.
 *
 * @throws ServiceError `usage-invalid` if limits are given for another tier, `not-found`, `account-unverified`
 */
export async function setTier(
  system: OpenSystem,
  email: string,
  tier: Tier,
  { vouch, ...figures }: TierFigures & Vouch,
) {
  const { rps, month, apps, keys, liveKeys, ruleSets, watches, members, writes } = figures;
  if (tier !== 'enterprise' && Object.values(figures).some((value) => value !== undefined))
    throw new ServiceError('usage-invalid', 'only enterprise accounts have limits of their own');
  const given = {
    requestsPerSecond: rps,
    requestsPerMonth: month,
    clientApps: apps,
    marketplaceKeys: keys,
    liveKeys,
    ruleSets,
    watches,
    watchMembers: members,
    writesPerDay: writes,
  };
  const owner = await requireVerifiedAccount(system, email, { vouch });
  const limits = tier === 'enterprise' ? enterpriseLimits(given) : undefined;
  const { accountId, tier: set } = await system.accountWork.setTier(ACTOR, owner.accountId, tier, limits);
  return { accountId, email, tier: set };
}

/** @throws ServiceError `not-found` */
export async function requireAccount({ accounts }: OpenSystem, email: string): Promise<Account> {
  const known = await accounts.findByEmail(email);
  if (!known) throw new ServiceError('not-found', `there is no account ${email}`);
  return known;
}

/** @throws ServiceError `not-found`, `account-unverified` */
export async function requireVerifiedAccount(
  system: OpenSystem,
  email: string,
  { vouch }: Vouch,
): Promise<Account> {
  const { accountId } = await requireAccount(system, email);
  return system.accountWork.verify(ACTOR, accountId, vouch);
}

async function summaryOf({ accounts, clock }: OpenSystem, app: ClientApp) {
  const { clientId, name, accountId, scope, scopeReason, suspended, limits, keys, createdAt } = app;
  const owner = await accounts.read(accountId);
  return {
    clientId,
    name,
    email: owner?.email,
    tier: owner?.tier ?? limits.tier,
    scope,
    ...(scopeReason === undefined ? {} : { scopeReason }),
    suspended,
    ...(app.scopePurpose === undefined ? {} : { scopePurpose: app.scopePurpose }),
    keyCount: keys.filter((key) => isUsable(key, clock.now())).length,
    createdAt,
  };
}
