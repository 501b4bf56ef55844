import type { Account, ApiKeyRecord, ClientApp, TierLimits } from '#shared/contracts/apps/client-app.ts';
import { appLimitsOf, limitsOf } from '#shared/contracts/apps/tiers.ts';
import { ServiceError } from '#shared/errors.ts';
import { marketplaceKeysKey, ownedAppsKey } from '#shared/fairness/leased-slots.ts';
import * as change from '../../domain/change-app.ts';
import { type Basis, existing } from '../basis.ts';
import { type Credentials, type KeyFacts, keyRecord, type NewKey } from './credentials.ts';

type CreateClientApp = {
  readonly owner: Account;
  readonly name: string;
  readonly scope: ClientApp['scope'];
  /** If an app with this id exists, it stays unchanged, so a creation can be retried. */
  readonly credentials: Credentials;
  readonly keyId: string;
};

export type ClientAppWork = ReturnType<typeof makeClientAppWork>;

/**
 * Operations on client apps. Each write returns once it is in effect, in the topic and in the view,
 * and names the actor in the audit log. The caller has checked that the actor may do it.
 *
 * Operations that create something take the new ids and credentials, and change nothing if these
 * exist already.
 *
 * @throws ServiceError `not-found` (deleted apps too), `limit-reached`, `conflict`, and the errors
 *   of a write
 */
export function makeClientAppWork({ accounts, clientApps, slots, writes, box, now }: Basis) {
  const nowIso = () => new Date(now()).toISOString();
  const existingApp = (app: ClientApp | undefined, clientId: string) =>
    existing(app, `there is no client app ${clientId}`);
  const read = async (clientId: string) => existingApp(await clientApps.read(clientId), clientId);
  /** @param subject of the audit entry: the app itself, or a key or member of it */
  const changeApp = (
    actor: string,
    clientId: string,
    action: string,
    subject: string,
    by: change.ChangeApp,
  ) => writes.app(clientId, { actor, action, subject }, (current) => by(existingApp(current, clientId)));
  const changeItself = (actor: string, clientId: string, action: string, by: change.ChangeApp) =>
    changeApp(actor, clientId, action, clientId, by);
  /** If the account was deleted while the app was created, deletes the app too. */
  const deleteIfAccountGone = async (actor: string, { clientId, accountId }: ClientApp) => {
    const owner = await accounts.read(accountId);
    if (owner !== undefined && owner.deletedAt === undefined) return;
    await changeItself(actor, clientId, 'app-deleted', change.remove(now()));
    throw new ServiceError('not-found', 'the account was deleted');
  };
  const limitsOfOwner = async (accountId: string): Promise<TierLimits> =>
    limitsOf(existing(await accounts.read(accountId), 'there is no such account'));
  /** Checked on the version that the change is based on, so concurrent creations cannot exceed the
   * limit. */
  const withinLiveKeys =
    ({ liveKeys }: TierLimits, by: change.ChangeApp): change.ChangeApp =>
    (app) => {
      const changed = by(app);
      if (changed && change.hasTooManyKeys(app, changed, liveKeys, now()))
        throw new ServiceError(
          'limit-reached',
          `a client app of this account may have ${liveKeys} live keys`,
        );
      return changed;
    };

  return {
    read,
    async create(actor: string, { owner, name, scope, credentials, keyId }: CreateClientApp): Promise<void> {
      const { clientId, apiKey, webhookSecret } = credentials;
      if (await clientApps.read(clientId)) return;
      const { clientApps: countMax } = limitsOf(owner);
      if (!(await slots.take(ownedAppsKey(owner.accountId), clientId, countMax)))
        throw new ServiceError('limit-reached', `this account may have ${countMax} client apps`);
      const createdAt = nowIso();
      const document: ClientApp = {
        clientId,
        version: 1,
        accountId: owner.accountId,
        name,
        scope,
        ...(scope === 'requested' && { scopeRequestedAt: createdAt }),
        suspended: false,
        limits: appLimitsOf(owner),
        keys: [keyRecord({ keyId, apiKey }, { name: 'default' }, createdAt)],
        webhookSecrets: [{ encrypted: box.seal(webhookSecret, clientId), createdAt }],
        createdAt,
      };
      const auditEntry = { actor, action: 'app-created', subject: clientId };
      const created = await writes.app(clientId, auditEntry, (current) => (current ? undefined : document));
      await deleteIfAccountGone(actor, created);
    },
    change: changeApp,
    setDomains: (actor: string, clientId: string, [...domains]: readonly string[]) =>
      changeItself(
        actor,
        clientId,
        'domains-set',
        change.set({ domains: domains.length > 0 ? domains : undefined }),
      ),
    remove: (actor: string, clientId: string) =>
      changeItself(actor, clientId, 'app-deleted', change.remove(now())),
    suspend: (actor: string, clientId: string) =>
      changeItself(actor, clientId, 'app-suspended', change.set({ suspended: true })),
    resume: (actor: string, clientId: string) =>
      changeItself(actor, clientId, 'app-resumed', change.set({ suspended: false })),
    approveScope: (actor: string, clientId: string) =>
      changeItself(actor, clientId, 'scope-approved', change.decideScope('approved', nowIso())),
    rejectScope: (actor: string, clientId: string, reason: string) =>
      changeItself(actor, clientId, 'scope-rejected', change.decideScope('rejected', nowIso(), reason)),
    async createKey(actor: string, clientId: string, key: NewKey, facts: KeyFacts): Promise<void> {
      const { accountId } = await read(clientId);
      const limits = await limitsOfOwner(accountId);
      const { marketplaceKeys } = limits;
      if (facts.marketplace && !(await slots.take(marketplaceKeysKey(accountId), key.keyId, marketplaceKeys)))
        throw new ServiceError('limit-reached', `this account may have ${marketplaceKeys} marketplace keys`);
      const record = keyRecord(key, facts, nowIso());
      const add = withinLiveKeys(limits, change.addKey(record, now()));
      await changeApp(actor, clientId, 'key-created', key.keyId, add);
    },
    revokeKey: (actor: string, clientId: string, keyId: string) =>
      changeApp(actor, clientId, 'key-revoked', keyId, (app) => {
        keyOf(app, keyId);
        return change.revokeKey(keyId, nowIso())(app);
      }),
    /** Replaces a key by `fresh`; the old key stays usable for `overlapMs`. */
    async rollKey(actor: string, clientId: string, keyId: string, fresh: NewKey, overlapMs: number) {
      const limits = await limitsOfOwner((await read(clientId)).accountId);
      await changeApp(actor, clientId, 'key-rolled', keyId, (app) => {
        const { name, marketplace, permissions, expiresAt, replacedBy } = keyOf(app, keyId);
        if (replacedBy === fresh.keyId) return undefined;
        if (replacedBy !== undefined || !change.isUsable(keyOf(app, keyId), now()))
          throw new ServiceError('conflict', 'the key was rolled or revoked already, or has expired');
        const record = keyRecord(fresh, { name, marketplace, permissions, expiresAt }, nowIso());
        return withinLiveKeys(limits, change.rollKey(keyId, record, now(), overlapMs))(app);
      });
    },
    seal: (clientId: string, webhookSecret: string) => box.seal(webhookSecret, clientId),
    /** `sealed` comes from `seal`. */
    rotateSecret: (actor: string, clientId: string, sealed: string, overlapMs: number) =>
      changeItself(actor, clientId, 'secret-rotated', change.rotateSecret(sealed, now(), overlapMs)),
    /** Encrypts the app's secrets again with the newest key; their values stay the same. */
    resealSecrets(actor: string, clientId: string) {
      const by = change.resealSecrets((encrypted) => box.reseal(encrypted, clientId));
      return changeItself(actor, clientId, 'secrets-resealed', by);
    },
  };
}

const keyOf = ({ clientId, keys }: ClientApp, keyId: string): ApiKeyRecord =>
  existing(
    keys.find((candidate) => candidate.keyId === keyId),
    `there is no key ${keyId} of ${clientId}`,
  );
