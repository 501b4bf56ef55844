import type { z } from 'zod';
import type { Account, ApiKeyRecord, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import type { AttemptView, DeliveryView } from '#shared/stores/webhooks/deliveries.ts';
import { isLive, isUsable } from '../domain/change-app.ts';
import { roleOf } from '../domain/permissions.ts';
import type { DeliveryAnswer, KeyAnswer, ScopeAnswer } from '../http/api.ts';
import type { AccountAnswer } from './accounts/account-operations.ts';
import type { AppAnswer, AppSummary } from './apps/app-operations.ts';
import type { DeliverySummary } from './deliveries/delivery-operations.ts';
import type { OperatorApp } from './operator/operator-operations.ts';
import { allowedOperations } from './team/allowed-operations.ts';

/** Documents as the API returns them: without hashes, secrets and data of other accounts. */

export const presentAccount = (
  account: Account,
): Omit<z.input<typeof AccountAnswer>, 'mustSetUpTwoFactor'> => ({
  accountId: account.accountId,
  email: account.email,
  tier: account.tier,
  operator: account.operator !== undefined,
  ...(account.operator && { operatorRights: account.operator }),
  limits: limitsOf(account),
  hasPassword: account.passwordHash !== undefined,
  ...(account.twoFactor && {
    twoFactor: {
      enabledAt: account.twoFactor.enabledAt,
      recoveryCodesLeft: account.twoFactor.recoveryCodes.length,
    },
  }),
});

const presentScope = (app: ClientApp): z.input<typeof ScopeAnswer> => ({
  state: app.scope,
  purpose: app.scopePurpose,
  reason: app.scopeReason,
});

const presentFacts = (app: ClientApp, reader: Account) => ({
  clientId: app.clientId,
  name: app.name,
  role: roleOf(app, reader) ?? 'viewer',
  createdAt: app.createdAt,
  suspended: app.suspended,
  scope: presentScope(app),
});

export const presentAppSummary = (
  app: ClientApp,
  reader: Account,
  nowMs: number,
): z.input<typeof AppSummary> => ({
  ...presentFacts(app, reader),
  keyCount: app.keys.filter((key) => isUsable(key, nowMs)).length,
});

export function presentApp(
  app: ClientApp,
  { account: reader, owner }: { readonly account: Account; readonly owner: Account },
  usedAt: Readonly<Record<string, string>>,
  nowMs: number,
): z.input<typeof AppAnswer> {
  const facts = presentFacts(app, reader);
  return {
    ...facts,
    operations: allowedOperations(facts.role),
    keys: app.keys.map((key) => presentKey(key, usedAt[key.keyId])),
    secrets: app.webhookSecrets
      .filter((secret) => isLive(secret, nowMs))
      .map(({ createdAt, expiresAt }) => ({ createdAt, expiresAt })),
    limits: limitsOf(owner),
    alertUrl: app.alertUrl,
    domains: app.domains ?? [],
  };
}

export const presentKey = (
  { hash: _, replacedBy: __, ...shown }: ApiKeyRecord,
  lastUsedAt: string | undefined,
): z.input<typeof KeyAnswer> => ({ ...shown, lastUsedAt });

const presentAttempt = ({ at, status, durationMs, class: outcome }: AttemptView) => ({
  at,
  status,
  durationMs,
  class: outcome,
});

export const presentDeliverySummary = ({
  requestId,
  state,
  callbackUrl,
  acceptedAt,
  attempts,
}: DeliveryView): z.input<typeof DeliverySummary> => ({
  requestId,
  state,
  callbackUrl,
  acceptedAt,
  attempts: attempts.length,
  lastAttempt: attempts.map(presentAttempt).at(-1),
});

export const presentDelivery = ({
  requestId,
  state,
  callbackUrl,
  nextAttemptAt,
  attempts,
}: DeliveryView): z.input<typeof DeliveryAnswer> => ({
  requestId,
  state,
  callbackUrl,
  nextAttemptAt,
  attempts: attempts.map((one) => ({ attempt: one.attempt, ...presentAttempt(one) })),
});

export const presentOperatorApp = (
  app: ClientApp,
  owner: Account | undefined,
): z.input<typeof OperatorApp> => ({
  clientId: app.clientId,
  name: app.name,
  accountId: app.accountId,
  email: owner?.email ?? '',
  tier: owner?.tier ?? app.limits.tier,
  suspended: app.suspended,
  scope: presentScope(app),
});
