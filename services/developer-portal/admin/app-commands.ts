import type { ClientApp, Tier } from '#shared/contracts/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { CreateClientApp } from '../client-apps.ts';
import type { OpenSystem } from './open-system.ts';

/** Commands about client apps, their keys, secrets and scopes; each value is what `--json` prints. */

export const createApp = ({ apps }: OpenSystem, request: CreateClientApp) => apps.create(request);

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
  summaryOf(system, await system.apps.suspend(clientId));

export const resumeApp = async (system: OpenSystem, clientId: string) =>
  summaryOf(system, await system.apps.resume(clientId));

export const approveScope = async (system: OpenSystem, clientId: string) =>
  summaryOf(system, await system.apps.approveScope(clientId));

export const rejectScope = async (system: OpenSystem, clientId: string, reason: string) =>
  summaryOf(system, await system.apps.rejectScope(clientId, reason));

export const createKey = (
  { apps }: OpenSystem,
  clientId: string,
  options: { readonly name: string; readonly marketplace: boolean },
) => apps.createKey(clientId, options);

export async function listKeys({ clientApps, keyUse }: OpenSystem, clientId: string) {
  const app = await clientApps.read(clientId);
  if (!app) throw new ServiceError('not-found', `there is no client app ${clientId}`);
  const usedAt = await keyUse.read(clientId);
  return app.keys.map(({ hash: _, ...shown }) => ({ ...shown, lastUsedAt: usedAt[shown.keyId] ?? null }));
}

export async function revokeKey({ apps }: OpenSystem, clientId: string, keyId: string) {
  await apps.revokeKey(clientId, keyId);
  return { keyId, revoked: true };
}

export const rotateSecret = ({ apps }: OpenSystem, clientId: string, overlapMs: number) =>
  apps.rotateSecret(clientId, overlapMs);

export type TierFigures = {
  readonly rps?: number;
  readonly month?: number;
  readonly apps?: number;
  readonly keys?: number;
};

/** An enterprise account's own figures; what is not given is the tier's default. */
export async function setTier({ apps }: OpenSystem, email: string, tier: Tier, figures: TierFigures) {
  const { rps = 500, month = 100_000_000, apps: appsMax = 10_000, keys = 10_000 } = figures;
  const limits = {
    requestsPerSecond: rps,
    requestsPerMonth: month,
    clientApps: appsMax,
    marketplaceKeys: keys,
  };
  const { accountId, tier: set } = await apps.setTier(
    email,
    tier,
    tier === 'enterprise' ? limits : undefined,
  );
  return { accountId, email, tier: set };
}

async function summaryOf({ accounts }: OpenSystem, app: ClientApp) {
  const { clientId, name, accountId, scope, scopeReason, suspended, limits, keys, createdAt } = app;
  return {
    clientId,
    name,
    email: (await accounts.read(accountId))?.email,
    tier: limits.tier,
    scope,
    ...(scopeReason === undefined ? {} : { scopeReason }),
    suspended,
    keyCount: keys.filter(({ revokedAt }) => revokedAt === undefined).length,
    createdAt,
  };
}
