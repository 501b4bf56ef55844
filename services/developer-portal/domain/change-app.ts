import {
  type ApiKeyRecord,
  type ClientApp,
  KEYS_MAX,
  LIVE_SECRETS_MAX,
  type WebhookSecretRecord,
} from '#shared/contracts/apps/client-app.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';

/** A change of a client app's document; `undefined` if the document needs no change. */
export type ChangeApp = (app: ClientApp) => ClientApp | undefined;

/** Sets members of a document; `undefined` removes one. */
export const set =
  <D extends object>(members: NoInfer<Partial<D>>) =>
  (document: D): D | undefined => {
    const changed = { ...document, ...members };
    if (JSON.stringify(changed) === JSON.stringify(document)) return undefined;
    return Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== undefined)) as D;
  };

/** Requests the scope, or updates the purpose of an open request. */
export const requestScope =
  (purpose: string, requestedAt: string): ChangeApp =>
  ({ scopeReason: _, ...app }) =>
    app.scope === 'approved' || (app.scope === 'requested' && app.scopePurpose === purpose)
      ? undefined
      : { ...app, scope: 'requested', scopePurpose: purpose, scopeRequestedAt: requestedAt };

/** Approves the scope, or rejects it with a reason. */
export const decideScope =
  (scope: 'approved' | 'rejected', scopeDecidedAt: string, scopeReason?: string): ChangeApp =>
  (app) =>
    app.scope === scope && app.scopeReason === scopeReason
      ? undefined
      : set<ClientApp>({ scope, scopeReason, scopeDecidedAt })(app);

/** Maximum of revoked and expired keys in the document, the newest; the audit log has the
 * others. */
export const ENDED_KEYS_MAX = 100;

/** Adds a key and drops the oldest ended keys. `hasTooManyKeys` checks the limit. */
export function addKey(key: ApiKeyRecord, nowMs: number): ChangeApp {
  return (app) => {
    if (app.keys.some(({ keyId }) => keyId === key.keyId)) return undefined;
    return { ...app, keys: [...dropOldestEndedKeys(app.keys, nowMs), key] };
  };
}

/**
 * Whether a change exceeds the limit on live keys. A rolled key is not counted beside its
 * replacement, so an app at its limit, or with more keys than its tier now allows, can still roll
 * its keys.
 */
export function hasTooManyKeys(
  before: ClientApp,
  after: ClientApp,
  liveKeysMax: number,
  nowMs: number,
): boolean {
  const [countBefore, count] = [countLiveKeys(before, nowMs), countLiveKeys(after, nowMs)];
  return (count > countBefore && count > liveKeysMax) || after.keys.length > KEYS_MAX;
}

const countLiveKeys = ({ keys }: ClientApp, nowMs: number): number =>
  keys.filter((key) => key.replacedBy === undefined && isUsable(key, nowMs)).length;

function dropOldestEndedKeys(keys: readonly ApiKeyRecord[], nowMs: number): ApiKeyRecord[] {
  const ended = keys.filter((key) => !isUsable(key, nowMs));
  const dropped = new Set(ended.slice(0, Math.max(0, ended.length - ENDED_KEYS_MAX)));
  return keys.filter((key) => !dropped.has(key));
}

/**
 * Replaces a usable key by a new key; the replaced key stays usable for `overlapMs`. The key before
 * the replaced one ends at once, so at most two keys of a succession live at a time.
 */
export function rollKey(keyId: string, fresh: ApiKeyRecord, nowMs: number, overlapMs: number): ChangeApp {
  const endsAt = new Date(nowMs + overlapMs).toISOString();
  const revokedAt = new Date(nowMs).toISOString();
  const ended = (key: ApiKeyRecord): ApiKeyRecord => {
    if (key.keyId === keyId)
      return { ...key, expiresAt: earlier(key.expiresAt, endsAt), replacedBy: fresh.keyId };
    return key.replacedBy === keyId && isUsable(key, nowMs) ? { ...key, revokedAt } : key;
  };
  return (app) => addKey(fresh, nowMs)({ ...app, keys: app.keys.map(ended) });
}

/**
 * Revokes a key. The key stays in the document, see `ENDED_KEYS_MAX`. A key that it replaced, and
 * that is still usable, counts again: otherwise an app could roll a key, revoke the new one, and so
 * keep any number of old ones.
 */
export const revokeKey =
  (keyId: string, revokedAt: string): ChangeApp =>
  (app) => {
    if (!app.keys.some((key) => key.keyId === keyId && key.revokedAt === undefined)) return undefined;
    const keys = app.keys.map(({ replacedBy, ...key }) => ({
      ...key,
      ...(replacedBy !== undefined && replacedBy !== keyId && { replacedBy }),
      ...(key.keyId === keyId && { revokedAt }),
    }));
    return { ...app, keys };
  };

/**
 * Adds a new secret in front. The earlier secrets sign for `overlapMs` more, so that receivers can
 * switch; beyond three live secrets the oldest stop at once.
 */
export function rotateSecret(encrypted: string, nowMs: number, overlapMs: number): ChangeApp {
  const createdAt = new Date(nowMs).toISOString();
  const endsAt = new Date(nowMs + overlapMs).toISOString();
  return (app) => {
    if (app.webhookSecrets.some((secret) => secret.encrypted === encrypted)) return undefined;
    const live = app.webhookSecrets.filter((secret) => isLive(secret, nowMs)).slice(0, LIVE_SECRETS_MAX - 1);
    const ending = live.map((secret) => ({ ...secret, expiresAt: earlier(secret.expiresAt, endsAt) }));
    return { ...app, webhookSecrets: [{ encrypted, createdAt }, ...ending] };
  };
}

/** Encrypts the secrets again; `reseal` returns a secret unchanged if it has the newest key
 * already. */
export function resealSecrets(reseal: (encrypted: string) => string): ChangeApp {
  return (app) => {
    const webhookSecrets = app.webhookSecrets.map((secret) => ({
      ...secret,
      encrypted: reseal(secret.encrypted),
    }));
    const isSame = webhookSecrets.every(({ encrypted }, i) => encrypted === app.webhookSecrets[i]?.encrypted);
    return isSame ? undefined : { ...app, webhookSecrets };
  };
}

/** Longer than a delivery may take, so that accepted checks are still signed. */
const SIGNS_AFTER_DELETION_MS = 2 * DAY_MS;

/**
 * The tombstone of an app. It keeps live marketplace keys, as revoked, so that the view removes
 * them from the account's count; its secrets sign accepted checks for two days.
 */
export function remove(nowMs: number): ChangeApp {
  const deletedAt = new Date(nowMs).toISOString();
  const signsUntil = new Date(nowMs + SIGNS_AFTER_DELETION_MS).toISOString();
  return ({ scopePurpose: _, scopeReason: __, invitations: ___, ...app }) => ({
    ...app,
    deletedAt,
    keys: app.keys
      .filter(({ marketplace, revokedAt }) => marketplace && revokedAt === undefined)
      .map((key) => ({ ...key, revokedAt: deletedAt })),
    webhookSecrets: app.webhookSecrets.map((secret) => ({
      ...secret,
      expiresAt: earlier(secret.expiresAt, signsUntil),
    })),
  });
}

export const isLive = ({ expiresAt }: WebhookSecretRecord, nowMs: number): boolean =>
  expiresAt === undefined || Date.parse(expiresAt) > nowMs;

const earlier = (one: string | undefined, other: string): string =>
  one !== undefined && Date.parse(one) < Date.parse(other) ? one : other;

export const isUsable = ({ revokedAt, expiresAt }: ApiKeyRecord, nowMs: number): boolean =>
  revokedAt === undefined && (expiresAt === undefined || Date.parse(expiresAt) > nowMs);
