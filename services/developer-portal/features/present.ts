import type { z } from 'zod';
import type { Account, ApiKeyRecord, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import { isLive, isUsable } from '../domain/change-app.ts';
import { isAllowed, permissionOf, type Role, roleOf } from '../domain/permissions.ts';
import type { ScopeAnswer } from '../http/api.ts';
import { OPERATIONS, type OperationId } from '../http/operations.ts';
import { AppSummary } from './apps/app-operations.ts';
import { OperatorApp } from './operator/operator-operations.ts';

/** Documents as the API returns them. The schema of an answer leaves the rest out. */

export const presentAccount = (account: Account) => ({
  ...account,
  operator: account.operator !== undefined,
  operatorRights: account.operator,
  limits: limitsOf(account),
  hasPassword: account.passwordHash !== undefined,
  twoFactor: account.twoFactor && {
    enabledAt: account.twoFactor.enabledAt,
    recoveryCodesLeft: account.twoFactor.recoveryCodes.length,
  },
});

const presentScope = (app: ClientApp): z.input<typeof ScopeAnswer> => ({
  state: app.scope,
  purpose: app.scopePurpose,
  reason: app.scopeReason,
});

const presentFacts = (app: ClientApp, reader: Account) => ({
  ...app,
  role: roleOf(app, reader) ?? 'viewer',
  scope: presentScope(app),
});

/** The operations on an app that a role may use, by id. The page shows the buttons and forms of these
 * only. */
export const allowedOperations = (role: Role): OperationId[] =>
  (Object.keys(OPERATIONS) as OperationId[]).filter((id) => {
    const permission = permissionOf(OPERATIONS[id]);
    return permission !== undefined && isAllowed(role, permission);
  });

/** Of a list: the whole documents of all its apps would take too much memory. */
export const presentAppSummary = (app: ClientApp, reader: Account, nowMs: number) =>
  AppSummary.parse({
    ...presentFacts(app, reader),
    keyCount: app.keys.filter((key) => isUsable(key, nowMs)).length,
  });

export function presentApp(
  app: ClientApp,
  { account: reader, owner }: { readonly account: Account; readonly owner: Account },
  usedAt: Readonly<Record<string, string>>,
  nowMs: number,
) {
  const facts = presentFacts(app, reader);
  return {
    ...facts,
    operations: allowedOperations(facts.role),
    keys: withUse(app.keys, usedAt),
    secrets: app.webhookSecrets.filter((secret) => isLive(secret, nowMs)),
    limits: limitsOf(owner),
    domains: app.domains ?? [],
  };
}

/** Keys with the time of their last use. */
export const withUse = (keys: readonly ApiKeyRecord[], usedAt: Readonly<Record<string, string>>) =>
  keys.map((key) => ({ ...key, lastUsedAt: usedAt[key.keyId] }));

export const presentOperatorApp = (app: ClientApp, owner: Account | undefined) =>
  OperatorApp.parse({
    ...app,
    email: owner?.email ?? '',
    tier: owner?.tier ?? app.limits.tier,
    scope: presentScope(app),
  });
