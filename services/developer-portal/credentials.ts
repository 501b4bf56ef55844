import { createHash, randomBytes } from 'node:crypto';
import { API_KEY_RANDOM_BYTES, displayPartsOf, hashApiKey, makeApiKey } from '#shared/contracts/api-key.ts';
import type { ApiKeyRecord } from '#shared/contracts/client-app.ts';

const SECRET_BYTES = 32;
const ID_BYTES = 12;

/** What a developer sees once and never again. */
export type Credentials = {
  readonly clientId: string;
  readonly apiKey: string;
  readonly webhookSecret: string;
};

/** A new key as its owner gets it. */
export type NewKey = { readonly keyId: string; readonly apiKey: string };

const newId = (prefix: string): string => `${prefix}_${randomBytes(ID_BYTES).toString('hex')}`;

/**
 * The id of whoever signs up with an address: the same wherever and however often it is done, so that two who do so
 * at once write one document.
 *
 * @example
 * accountIdOf('Dev@example.com') === accountIdOf('dev@example.com'); // true
 */
export const accountIdOf = (email: string): string =>
  `acc_${createHash('sha256')
    .update(`account ${email.toLowerCase()}`)
    .digest('hex')
    .slice(0, 2 * ID_BYTES)}`;

/** A webhook signing secret in the form of Standard Webhooks: 32 random bytes. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;

export const newKey = (): NewKey => ({
  keyId: newId('key'),
  apiKey: makeApiKey(randomBytes(API_KEY_RANDOM_BYTES)),
});

/** Credentials of an app to be. */
export const newCredentials = (): Credentials => ({
  clientId: newId('app'),
  apiKey: newKey().apiKey,
  webhookSecret: newWebhookSecret(),
});

export type KeyFacts = Pick<ApiKeyRecord, 'name' | 'createdAt'> & {
  readonly marketplace?: boolean | undefined;
  readonly expiresAt?: string | undefined;
};

/** A key as it is kept: its hash, and what may be shown of it. */
export const keyRecord = ({ keyId, apiKey }: NewKey, facts: KeyFacts): ApiKeyRecord => ({
  keyId,
  hash: hashApiKey(apiKey),
  name: facts.name,
  ...displayPartsOf(apiKey),
  marketplace: facts.marketplace ?? false,
  createdAt: facts.createdAt,
  ...(facts.expiresAt !== undefined && { expiresAt: facts.expiresAt }),
});
