import { randomBytes } from 'node:crypto';
import { API_KEY_RANDOM_BYTES, hashApiKey, makeApiKey } from '#shared/contracts/api-key.ts';
import {
  type Account,
  type ApiKeyRecord,
  account,
  type ClientApp,
  clientApp,
  type Tier,
} from '#shared/contracts/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Accounts } from '#shared/redis/accounts.ts';
import type { ClientApps } from '#shared/redis/client-apps.ts';
import type { SecretBox } from '#shared/secret-box.ts';
import { appLimitsOf, limitsOf } from './domain/tiers.ts';
import type { WriteDocument } from './write-document.ts';

const SECRET_BYTES = 32;
const ID_BYTES = 12;

type Dependencies = {
  readonly accounts: Accounts;
  readonly clientApps: ClientApps;
  readonly write: WriteDocument;
  readonly box: Pick<SecretBox, 'seal'>;
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

const newId = (prefix: string): string =>
  `${prefix}_${randomBytes(ID_BYTES).toString('base64url').replace(/[-_]/g, 'x')}`;

/** A webhook signing secret in the form of Standard Webhooks: 32 random bytes. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;

export const newCredentials = (): Credentials => ({
  clientId: newId('app'),
  apiKey: makeApiKey(randomBytes(API_KEY_RANDOM_BYTES)),
  webhookSecret: newWebhookSecret(),
});

const keyRecord = (apiKey: string, name: string, createdAt: string): ApiKeyRecord => ({
  keyId: newId('key'),
  hash: hashApiKey(apiKey),
  name,
  prefix: apiKey.slice(0, 12),
  lastFour: apiKey.slice(-4),
  marketplace: false,
  createdAt,
});

/**
 * Creates a client app, and its account where that is missing; sets the account's tier if one is named.
 *
 * Returns when the app can be used: its documents are in the topics and in the view.
 *
 * @throws ServiceError `limit-reached` when the account has as many apps as its tier allows
 */
export function makeCreateClientApp({ accounts, clientApps, write, box, now }: Dependencies) {
  const appStore = {
    topic: clientApp,
    read: clientApps.read,
    project: (app: ClientApp) => clientApps.project(app),
  };
  const accountStore = { topic: account, read: accounts.read, project: (a: Account) => accounts.project(a) };

  const ensureAccount = async ({ email, tier, limits }: CreateClientApp): Promise<Account> => {
    const known = await accounts.findByEmail(email);
    const accountId = known?.accountId ?? newId('acc');
    const createdAt = new Date(now()).toISOString();
    const written = await write(accountStore, accountId, (current) => {
      if (current && (tier === undefined || (tier === current.tier && limits === undefined)))
        return undefined;
      const base: Account = current ?? { accountId, version: 1, email, tier: 'free', createdAt };
      return { ...base, ...(tier && { tier }), ...(limits && { limits }) };
    });
    if (!written) throw new ServiceError('not-found', 'the account could not be written');
    return written;
  };

  return async function createClientApp(request: CreateClientApp): Promise<Credentials> {
    const credentials = request.credentials ?? newCredentials();
    if (await clientApps.read(credentials.clientId)) return credentials;
    const owner = await ensureAccount(request);
    const owned = (await clientApps.list()).filter(({ accountId }) => accountId === owner.accountId);
    if (owned.length >= limitsOf(owner).clientApps)
      throw new ServiceError(
        'limit-reached',
        `this account may have ${limitsOf(owner).clientApps} client apps`,
      );
    const createdAt = new Date(now()).toISOString();
    const document: ClientApp = {
      clientId: credentials.clientId,
      version: 1,
      accountId: owner.accountId,
      name: request.name,
      scope: request.approve ? 'approved' : 'requested',
      suspended: false,
      limits: appLimitsOf(owner),
      keys: [keyRecord(credentials.apiKey, 'default', createdAt)],
      webhookSecrets: [{ encrypted: box.seal(credentials.webhookSecret, credentials.clientId), createdAt }],
      createdAt,
    };
    await write(appStore, credentials.clientId, (current) => (current ? undefined : document));
    return credentials;
  };
}
