import { randomBytes } from 'node:crypto';
import { API_KEY_RANDOM_BYTES, displayPartsOf, hashApiKey, makeApiKey } from '#shared/contracts/api-key.ts';
import type { Account, ApiKeyRecord, ClientApp, Tier } from '#shared/contracts/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Accounts } from '#shared/redis/accounts.ts';
import type { ClientApps } from '#shared/redis/client-apps.ts';
import type { SecretBox } from '#shared/secret-box.ts';
import type { AuditedWrites } from './audited-writes.ts';
import * as change from './domain/change-app.ts';
import { appLimitsOf, limitsOf } from './domain/tiers.ts';

const SECRET_BYTES = 32;
const ID_BYTES = 12;

type Dependencies = {
  readonly accounts: Accounts;
  readonly clientApps: ClientApps;
  readonly writes: AuditedWrites;
  readonly box: Pick<SecretBox, 'seal'>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** What a developer sees once and never again. */
export type Credentials = {
  readonly clientId: string;
  readonly apiKey: string;
  readonly webhookSecret: string;
};

export type CreateClientApp = {
  readonly email: string;
  readonly name: string;
  readonly tier?: Tier;
  readonly limits?: Account['limits'];
  readonly approve: boolean;
  /** Credentials that were made before; an app that has this id already is left as it is. */
  readonly credentials?: Credentials;
};

const newId = (prefix: string): string => `${prefix}_${randomBytes(ID_BYTES).toString('hex')}`;

/** A webhook signing secret in the form of Standard Webhooks: 32 random bytes. */
const newWebhookSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
const newApiKey = (): string => makeApiKey(randomBytes(API_KEY_RANDOM_BYTES));

export const newCredentials = (): Credentials => ({
  clientId: newId('app'),
  apiKey: newApiKey(),
  webhookSecret: newWebhookSecret(),
});

const keyRecord = (apiKey: string, name: string, createdAt: string, marketplace = false): ApiKeyRecord => ({
  keyId: newId('key'),
  hash: hashApiKey(apiKey),
  name,
  ...displayPartsOf(apiKey),
  marketplace,
  createdAt,
});

/**
 * What can be done with client apps. Each write returns when it is in effect: in the topic, and in the view.
 *
 * @throws ServiceError `not-found`, `limit-reached`, and what a write throws
 */
export function makeClientAppWork({ accounts, clientApps, writes, box, now }: Dependencies) {
  const nowIso = () => new Date(now()).toISOString();

  const ensureAccount = async ({ email, tier, limits }: CreateClientApp): Promise<Account> => {
    const known = await accounts.findByEmail(email);
    if (known && (tier === undefined || (tier === known.tier && limits === undefined))) return known;
    const accountId = known?.accountId ?? newId('acc');
    const fresh: Account = { accountId, version: 1, email, tier: 'free', createdAt: nowIso() };
    return writes.account(accountId, { action: 'account-written', subject: accountId }, (current) => ({
      ...(current ?? fresh),
      ...(tier && { tier }),
      ...(limits && { limits }),
    }));
  };

  const ownedBy = async (accountId: string): Promise<ClientApp[]> =>
    (await clientApps.list()).filter((app) => app.accountId === accountId);

  const changeApp = (clientId: string, action: string, by: change.ChangeApp, subject = clientId) =>
    writes.app(clientId, { action, subject }, (current) => current && by(current));

  return {
    async create(request: CreateClientApp): Promise<Credentials> {
      const credentials = request.credentials ?? newCredentials();
      const { clientId, apiKey, webhookSecret } = credentials;
      if (await clientApps.read(clientId)) return credentials;
      const owner = await ensureAccount(request);
      const { clientApps: appsMax } = limitsOf(owner);
      if ((await ownedBy(owner.accountId)).length >= appsMax)
        throw new ServiceError('limit-reached', `this account may have ${appsMax} client apps`);
      const createdAt = nowIso();
      const document: ClientApp = {
        clientId,
        version: 1,
        accountId: owner.accountId,
        name: request.name,
        scope: request.approve ? 'approved' : 'requested',
        suspended: false,
        limits: appLimitsOf(owner),
        keys: [keyRecord(apiKey, 'default', createdAt)],
        webhookSecrets: [{ encrypted: box.seal(webhookSecret, clientId), createdAt }],
        createdAt,
      };
      await writes.app(clientId, { action: 'app-created', subject: clientId }, (current) =>
        current ? undefined : document,
      );
      return credentials;
    },
    suspend: (clientId: string) => changeApp(clientId, 'app-suspended', change.suspend),
    resume: (clientId: string) => changeApp(clientId, 'app-resumed', change.resume),
    approveScope: (clientId: string) => changeApp(clientId, 'scope-approved', change.approveScope),
    rejectScope: (clientId: string, reason: string) =>
      changeApp(clientId, 'scope-rejected', change.rejectScope(reason)),
    async createKey(
      clientId: string,
      { name, marketplace }: { readonly name: string; readonly marketplace: boolean },
    ): Promise<{ keyId: string; apiKey: string }> {
      const app = await clientApps.read(clientId);
      if (!app) throw new ServiceError('not-found', `there is no client app ${clientId}`);
      const owner = await accounts.read(app.accountId);
      if (marketplace && owner) {
        const { marketplaceKeys } = limitsOf(owner);
        const keys = (await ownedBy(app.accountId)).flatMap(({ keys }) => keys);
        if (keys.filter((key) => key.marketplace && change.isUsable(key, now())).length >= marketplaceKeys)
          throw new ServiceError(
            'limit-reached',
            `this account may have ${marketplaceKeys} marketplace keys`,
          );
      }
      const apiKey = newApiKey();
      const record = keyRecord(apiKey, name, nowIso(), marketplace);
      await changeApp(clientId, 'key-created', change.addKey(record), record.keyId);
      return { keyId: record.keyId, apiKey };
    },
    revokeKey: async (clientId: string, keyId: string) => {
      const app = await clientApps.read(clientId);
      if (!app?.keys.some((key) => key.keyId === keyId))
        throw new ServiceError('not-found', `there is no key ${keyId} of ${clientId}`);
      return changeApp(clientId, 'key-revoked', change.revokeKey(keyId, nowIso()), keyId);
    },
    async rotateSecret(clientId: string, overlapMs: number): Promise<{ webhookSecret: string }> {
      const webhookSecret = newWebhookSecret();
      const sealed = box.seal(webhookSecret, clientId);
      await changeApp(clientId, 'secret-rotated', change.rotateSecret(sealed, now(), overlapMs));
      return { webhookSecret };
    },
    /** Sets an account's tier, and with it the limits that all its apps carry. */
    async setTier(email: string, tier: Tier, limits: Account['limits']): Promise<Account> {
      const known = await accounts.findByEmail(email);
      if (!known) throw new ServiceError('not-found', `there is no account ${email}`);
      const deed = { action: `tier-${tier}`, subject: known.accountId };
      const owner = await writes.account(known.accountId, deed, (current) => {
        if (!current) return undefined;
        const { limits: _, ...rest } = current;
        return { ...rest, tier, ...(limits && { limits }) };
      });
      for (const { clientId } of await ownedBy(owner.accountId))
        await changeApp(clientId, 'limits-set', change.setLimits(appLimitsOf(owner)));
      return owner;
    },
  };
}
