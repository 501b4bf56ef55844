import type { Account, ClientApp, Tier } from '#shared/contracts/client-app.ts';
import { figuresWith } from '#shared/contracts/tiers.ts';
import { ServiceError } from '#shared/errors.ts';
import { type Credentials, newCredentials, newKey, newWebhookSecret } from '../credentials.ts';
import { isUsable } from '../domain/change-app.ts';
import type { OpenSystem } from './open-system.ts';

/** Commands about client apps, their keys, secrets and scopes; each value is what `--json` prints. */

/** Who stands in the audit log for what this command does. */
export const ACTOR = 'operator';

/** Whether the operator says that it is known whose account it is. */
export type Vouch = { readonly vouch: boolean };

export type CreateApp = Vouch & {
  readonly email: string;
  readonly name: string;
  readonly tier?: Tier;
  readonly limits?: Account['limits'];
  readonly approve: boolean;
  /** Credentials that were made before. */
  readonly credentials?: Credentials;
};

/**
 * Makes the account too where it is missing, and sets its tier where one is given.
 *
 * @throws ServiceError `account-unverified` where somebody signed up with the address, and nobody vouches for it
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
  const found = await system.clientApps.list();
  return Promise.all(found.map((app) => summaryOf(system, app)));
}

/** Apps that wait for an operator's word. */
export async function listScopes(system: OpenSystem) {
  const found = (await system.clientApps.list()).filter(({ scope }) => scope === 'requested');
  return Promise.all(found.map((app) => summaryOf(system, app)));
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

/** Seals every app's secrets with the key that seals now; nobody needs a new one for it. */
export async function resealSecrets({ apps, clientApps }: OpenSystem) {
  let count = 0;
  for (const { clientId } of await clientApps.list())
    try {
      await apps.resealSecrets(ACTOR, clientId);
      count++;
    } catch (error) {
      // An app that was deleted meanwhile is none of the apps any more.
      if (!(error instanceof ServiceError) || error.code !== 'not-found') throw error;
    }
  return { count };
}

export type TierFigures = {
  readonly rps?: number;
  readonly month?: number;
  readonly apps?: number;
  readonly keys?: number;
  readonly liveKeys?: number;
};

/**
 * An enterprise account's own figures; what is not given is the tier's default.
 *
 * @throws ServiceError `usage-invalid` for figures of another tier, `not-found`, `account-unverified`
 */
export async function setTier(
  system: OpenSystem,
  email: string,
  tier: Tier,
  { vouch, ...figures }: TierFigures & Vouch,
) {
  const { rps, month, apps, keys, liveKeys } = figures;
  if (tier !== 'enterprise' && Object.values(figures).some((value) => value !== undefined))
    throw new ServiceError('usage-invalid', 'only enterprise accounts have limits of their own');
  const given = {
    requestsPerSecond: rps,
    requestsPerMonth: month,
    clientApps: apps,
    marketplaceKeys: keys,
    liveKeys,
  };
  const owner = await requireVerifiedAccount(system, email, { vouch });
  const limits = tier === 'enterprise' ? figuresWith(given) : undefined;
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
