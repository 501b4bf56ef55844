import {
  type ApiKeyRecord,
  type AppLimits,
  type ClientApp,
  LIVE_SECRETS_MAX,
  type WebhookSecretRecord,
} from '#shared/contracts/client-app.ts';

/** A change of a client app's document. Nothing where it is as wished already. */
export type ChangeApp = (app: ClientApp) => ClientApp | undefined;

export const suspend: ChangeApp = (app) => (app.suspended ? undefined : { ...app, suspended: true });
export const resume: ChangeApp = (app) => (app.suspended ? { ...app, suspended: false } : undefined);

export const approveScope: ChangeApp = ({ scopeReason: _, ...app }) =>
  app.scope === 'approved' ? undefined : { ...app, scope: 'approved' };

export const rejectScope =
  (scopeReason: string): ChangeApp =>
  (app) => ({ ...app, scope: 'rejected', scopeReason });

export const setLimits =
  (limits: AppLimits): ChangeApp =>
  (app) => ({ ...app, limits });

export const addKey =
  (key: ApiKeyRecord): ChangeApp =>
  (app) => ({ ...app, keys: [...app.keys, key] });

/** A revoked key stays in the document: its hash must not become free again. */
export const revokeKey =
  (keyId: string, revokedAt: string): ChangeApp =>
  (app) =>
    app.keys.some((key) => key.keyId === keyId && key.revokedAt === undefined)
      ? { ...app, keys: app.keys.map((key) => (key.keyId === keyId ? { ...key, revokedAt } : key)) }
      : undefined;

/**
 * Puts a new secret in front. The ones before it sign for `overlapMs` more, so that a receiver can change over; of
 * more than three live ones the oldest stop at once.
 */
export function rotateSecret(encrypted: string, nowMs: number, overlapMs: number): ChangeApp {
  const createdAt = new Date(nowMs).toISOString();
  const endsAt = new Date(nowMs + overlapMs).toISOString();
  return (app) => {
    const live = app.webhookSecrets.filter((secret) => isLive(secret, nowMs)).slice(0, LIVE_SECRETS_MAX - 1);
    const ending = live.map((secret) => ({ ...secret, expiresAt: earlier(secret.expiresAt, endsAt) }));
    return { ...app, webhookSecrets: [{ encrypted, createdAt }, ...ending] };
  };
}

const isLive = ({ expiresAt }: WebhookSecretRecord, nowMs: number): boolean =>
  expiresAt === undefined || Date.parse(expiresAt) > nowMs;

const earlier = (one: string | undefined, other: string): string =>
  one !== undefined && Date.parse(one) < Date.parse(other) ? one : other;

/** Whether a key can be used at an instant. */
export const isUsable = ({ revokedAt, expiresAt }: ApiKeyRecord, nowMs: number): boolean =>
  revokedAt === undefined && (expiresAt === undefined || Date.parse(expiresAt) > nowMs);
