import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { ServiceError } from './errors.ts';

/** Numbered keys, of 256 bits unless said otherwise. Of those in use the one with the highest number
 * seals; all of them open. */
export type KeyRing = {
  readonly current: { readonly number: number; readonly key: Buffer };
  readonly byNumber: ReadonlyMap<number, Buffer>;
};

const KEY_BYTES = 32;
export const KEY_NUMBER_MAX = 255;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Parses `1:<base64 of 32 bytes>,2:…`, numbers from 0 to 255. A key whose number is followed by `?`
 * opens and does not seal yet: so all processes can know it before the first of them uses it.
 *
 * @throws ServiceError `config-invalid`, without any part of the text.
 */
export function parseKeyRing(text: string, keyBytes = KEY_BYTES): KeyRing {
  const byNumber = new Map<number, Buffer>();
  const inUse: number[] = [];
  for (const part of text.split(',')) {
    const match = /^([0-9]{1,3})(\??):([A-Za-z0-9+/]+=*)$/.exec(part.trim());
    const number = Number(match?.[1]);
    const key = Buffer.from(match?.[3] ?? '', 'base64');
    if (!match || number > KEY_NUMBER_MAX || key.length !== keyBytes || byNumber.has(number))
      throw new ServiceError(
        'config-invalid',
        `a key ring is \`number:base64 of ${keyBytes} bytes\`, comma-separated`,
      );
    byNumber.set(number, key);
    if (match[2] === '') inUse.push(number);
  }
  const number = Math.max(...inUse);
  const key = byNumber.get(number);
  if (!key)
    throw new ServiceError(
      'config-invalid',
      'a key ring needs at least one active key, written without a question mark',
    );
  return { current: { number, key }, byNumber };
}

export type SecretBox = {
  readonly seal: (plain: string, associated: string) => string;
  readonly open: (sealed: string, associated: string) => string;
  /** The same secret sealed with the newest active key; unchanged if that key sealed it. */
  readonly reseal: (sealed: string, associated: string) => string;
};

/**
 * Encrypts secrets at rest by AES-256-GCM. A secret sealed for one owner (`associated`) opens for
 * no other.
 *
 * @example
 * const box = makeSecretBox(parseKeyRing(`1:${'A'.repeat(43)}=`));
 * box.open(box.seal('whsec_…', 'app_1'), 'app_1'); // 'whsec_…'
 */
export function makeSecretBox(keys: KeyRing): SecretBox {
  const box: SecretBox = {
    seal(plain, associated) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', keys.current.key, nonce).setAAD(Buffer.from(associated));
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return `${keys.current.number}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`;
    },
    open(sealed, associated) {
      const [number = '', text = ''] = sealed.split('.');
      const key = keys.byNumber.get(Number(number));
      if (!key)
        throw new ServiceError(
          'config-invalid',
          `ROLECALL_SECRET_KEYS lacks key ${Number(number)}, which encrypted this secret`,
        );
      const bytes = Buffer.from(text, 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
        .setAAD(Buffer.from(associated))
        .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const body = bytes.subarray(NONCE_BYTES + TAG_BYTES);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    },
    reseal: (sealed, associated) =>
      sealed.startsWith(`${keys.current.number}.`)
        ? sealed
        : box.seal(box.open(sealed, associated), associated),
  };
  return box;
}
