import type { z } from 'zod';
import type { Audit } from '#shared/contracts/apps/audit.ts';
import type { Account, ApiKeyRecord, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import type { AttemptView, DeliveryView } from '#shared/stores/webhooks/delivery-view.ts';
import { isLive, isUsable } from '../domain/change-app.ts';
import { roleOf } from '../domain/permissions.ts';
import type * as answers from '../http/api-answers.ts';
import { accountIdOf } from './apps/credentials.ts';
import type { OperatorApp } from './operator/operator-answers.ts';
import { allowedOperations } from './team/allowed-operations.ts';

/** Documents as the API returns them: without hashes, secrets and data of other accounts. */

export const presentAccount = (account: Account): z.input<typeof answers.AccountAnswer> => ({
  accountId: account.accountId,
  email: account.email,
  tier: account.tier,
  operator: account.operator ?? false,
  limits: limitsOf(account),
  ...(account.twoFactor && {
    twoFactor: {
      enabledAt: account.twoFactor.enabledAt,
      recoveryCodesLeft: account.twoFactor.recoveryCodes.length,
    },
  }),
});

const presentScope = ({
  scope: state,
  scopePurpose: purpose,
  scopeReason: reason,
}: ClientApp): z.input<typeof answers.ScopeAnswer> => ({
  state,
  ...(purpose !== undefined && { purpose }),
  ...(reason !== undefined && { reason }),
});

export const presentAppSummary = (
  app: ClientApp,
  reader: Account,
  nowMs: number,
): z.input<typeof answers.AppSummary> => ({
  clientId: app.clientId,
  name: app.name,
  role: roleOf(app, reader) ?? 'viewer',
  createdAt: app.createdAt,
  suspended: app.suspended,
  scope: presentScope(app),
  keyCount: app.keys.filter((key) => isUsable(key, nowMs)).length,
});

export function presentApp(
  app: ClientApp,
  { account: reader, owner }: { readonly account: Account; readonly owner: Account },
  usedAt: Readonly<Record<string, string>>,
  nowMs: number,
): z.input<typeof answers.AppAnswer> {
  const role = roleOf(app, reader) ?? 'viewer';
  return {
    clientId: app.clientId,
    name: app.name,
    role,
    operations: allowedOperations(role),
    createdAt: app.createdAt,
    suspended: app.suspended,
    scope: presentScope(app),
    keys: app.keys.map((key) => presentKey(key, usedAt[key.keyId])),
    secrets: app.webhookSecrets
      .filter((secret) => isLive(secret, nowMs))
      .map(({ createdAt, expiresAt }) => ({ createdAt, ...(expiresAt !== undefined && { expiresAt }) })),
    limits: limitsOf(owner),
    ...(app.alertUrl !== undefined && { alertUrl: app.alertUrl }),
  };
}

export const presentKey = (
  { hash: _, replacedBy: __, ...shown }: ApiKeyRecord,
  lastUsedAt: string | undefined,
): z.input<typeof answers.KeyAnswer> => ({ ...shown, ...(lastUsedAt !== undefined && { lastUsedAt }) });

const presentAttempt = ({ at, status, durationMs, class: outcome }: AttemptView) => ({
  at,
  ...(status !== undefined && { status }),
  durationMs,
  class: outcome,
});

export function presentDeliverySummary(view: DeliveryView): z.input<typeof answers.DeliverySummary> {
  const last = view.attempts.at(-1);
  return {
    requestId: view.requestId,
    state: view.state,
    callbackUrl: view.callbackUrl,
    ...(view.acceptedAt !== undefined && { acceptedAt: view.acceptedAt }),
    attempts: view.attempts.length,
    ...(last && { lastAttempt: presentAttempt(last) }),
  };
}

export const presentDelivery = (view: DeliveryView): z.input<typeof answers.DeliveryAnswer> => ({
  requestId: view.requestId,
  state: view.state,
  callbackUrl: view.callbackUrl,
  ...(view.nextAttemptAt !== undefined && { nextAttemptAt: view.nextAttemptAt }),
  attempts: view.attempts.map((attempt) => ({ attempt: attempt.attempt, ...presentAttempt(attempt) })),
});

/** The ids of the accounts that an app belongs to, or belonged to. */
export const teamOf = ({ accountId, members = [], formerMembers = [] }: ClientApp): ReadonlySet<string> =>
  new Set([accountId, ...members.map((member) => member.accountId), ...formerMembers]);

/** Developers see `operator` instead of the e-mail address of an actor outside their team, and their keys by id. */
export const presentAudit = (
  { at, actor, action, subject }: Audit,
  reader: Account,
  team: ReadonlySet<string>,
): z.input<typeof answers.AuditEntry> => ({
  at,
  actor: actor.includes('@') && actor !== reader.email && !team.has(accountIdOf(actor)) ? 'operator' : actor,
  action,
  subject,
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
