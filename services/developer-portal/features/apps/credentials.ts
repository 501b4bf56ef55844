import { hash, randomBytes } from 'node:crypto';
import {
  API_KEY_RANDOM_BYTES,
  displayPartsOf,
  hashApiKey,
  makeApiKey,
} from '#shared/contracts/apps/api-key.ts';
import { type Account, type ApiKeyRecord, KeyPermission } from '#shared/contracts/apps/client-app.ts';
import { foldAddress } from '#shared/stores/apps/accounts.ts';

const SECRET_BYTES = 32;
const ID_BYTES = 12;

/** The credentials of an app, shown to its developer once. */
export type Credentials = {
  readonly clientId: string;
  readonly apiKey: string;
  readonly webhookSecret: string;
};

export type NewKey = { readonly keyId: string; readonly apiKey: string };

export const newId = (prefix: string): string => `${prefix}_${randomBytes(ID_BYTES).toString('hex')}`;

export const sha256 = (text: string): string => hash('sha256', text, 'hex');

/** A token of 256 random bits, with the id of the account or app whose session, link or invitation
 * it is. Only its SHA-256 is stored. */
export const newToken = (id: string): string => `${id}.${randomBytes(SECRET_BYTES).toString('base64url')}`;
/** The id of a token's account or app; `undefined` for text that is no token. */
export const idOfToken = (token: string): string | undefined =>
  /^((?:acc|app)_[0-9a-f]{24})\.[\w-]{43}$/.exec(token)?.[1];

/**
 * Names what signs in to an account: its password, or the person of the identity provider, and its
 * second factor. Sessions and reset links are bound to it, so a new password ends them, and so does
 * turning the second factor on or off, or giving the account to another person. An account that was
 * deleted and made again has another credential, although the same person may sign in to it.
 */
export const credentialOf = ({ passwordHash, singleSignOn, twoFactor, createdAt }: Account): string =>
  sha256(`credential ${JSON.stringify([createdAt, passwordHash, singleSignOn, twoFactor?.enabledAt])}`);

/**
 * The account id of an e-mail address. It is derived from the address, so concurrent sign-ups with
 * one address write one document.
 */
export const accountIdOf = (email: string): string =>
  `acc_${sha256(`account ${foldAddress(email)}`).slice(0, 2 * ID_BYTES)}`;

/** A webhook signing secret in the form of Standard Webhooks: 32 random bytes. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;

export const newKey = (): NewKey => ({
  keyId: newId('key'),
  apiKey: makeApiKey(randomBytes(API_KEY_RANDOM_BYTES)),
});

export const newCredentials = (): Credentials => ({
  clientId: newId('app'),
  apiKey: newKey().apiKey,
  webhookSecret: newWebhookSecret(),
});

/** What a key's maker chooses. */
export type KeyFacts = Pick<ApiKeyRecord, 'name'> & {
  readonly marketplace?: boolean | undefined;
  readonly permissions?: readonly KeyPermission[] | undefined;
  readonly expiresAt?: string | undefined;
};

/** The permissions of a key unless its maker chooses: all, or `check` if a third party holds it. */
const permissionsOf = (marketplace: boolean): readonly KeyPermission[] =>
  marketplace ? ['check'] : KeyPermission.options;

/** Whether a key may have chosen permissions: a marketplace key has no others than `check`. */
export const mayHave = (marketplace: boolean, permissions: readonly KeyPermission[] = []): boolean =>
  permissions.every((one) => permissionsOf(marketplace).includes(one));

export const keyRecord = ({ keyId, apiKey }: NewKey, facts: KeyFacts, createdAt: string): ApiKeyRecord => ({
  keyId,
  hash: hashApiKey(apiKey),
  name: facts.name,
  ...displayPartsOf(apiKey),
  marketplace: facts.marketplace ?? false,
  permissions: [...(facts.permissions ?? permissionsOf(facts.marketplace ?? false))],
  createdAt,
  ...(facts.expiresAt !== undefined && { expiresAt: facts.expiresAt }),
});
