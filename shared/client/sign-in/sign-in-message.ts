import { toChecksumAddress } from '../../contracts/rules/checksum-address.ts';
import { parseSignInMessage, SIGN_IN_MESSAGE_BYTES_MAX } from '../../contracts/sign-in/sign-in-message.ts';
import { RolecallError } from '../http/rolecall-error.ts';
import { bytesOfText } from '../verify/base64.ts';

/** The fields of a sign-in message (EIP-4361). */
export type SignInMessageFields = {
  /** Host, and port if it is not the default, of the page: one of the app's domains. */
  readonly domain: string;
  /** The wallet, of whatever case. */
  readonly address: string;
  /** The resource to sign in to, such as the page's address. */
  readonly uri: string;
  readonly chainId: number;
  /** Of `rolecall.nonce()`. */
  readonly nonce: string;
  /** Shown by the wallet to its owner: one line of printable ASCII. */
  readonly statement?: string | undefined;
  /** Default: now. */
  readonly issuedAt?: Date | undefined;
  readonly expirationTime?: Date | undefined;
  readonly notBefore?: Date | undefined;
  readonly requestId?: string | undefined;
  /** URIs. */
  readonly resources?: readonly string[] | undefined;
  /** `https`, say; default none. */
  readonly scheme?: string | undefined;
};

/**
 * Composes the text that a wallet signs (`personal_sign`) and a check takes in `signIn`.
 *
 * @throws RolecallError `config-invalid` if a field does not fit the grammar of EIP-4361
 *
 * @example
 * const message = signInMessage({ domain: 'shop.example', address, uri: 'https://shop.example/vip', chainId: 1, nonce });
 * await rolecall.check({ account: address, ruleSet: 'vip', signIn: [{ message, signature }] });
 */
export function signInMessage(fields: SignInMessageFields): string {
  const { domain, address, uri, chainId, nonce, statement, scheme, requestId, resources } = fields;
  if (!/^0x[0-9a-fA-F]{40}$/.test(address)) throw misfit('address must be 0x and 40 hexadecimal digits.');
  const lines = [
    `${scheme === undefined ? '' : `${scheme}://`}${domain} wants you to sign in with your Ethereum account:`,
    toChecksumAddress(address),
    '',
    ...(statement === undefined ? [] : [statement]),
    '',
    `URI: ${uri}`,
    'Version: 1',
    `Chain ID: ${chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${instantOf('issuedAt', fields.issuedAt ?? new Date())}`,
    ...(fields.expirationTime
      ? [`Expiration Time: ${instantOf('expirationTime', fields.expirationTime)}`]
      : []),
    ...(fields.notBefore ? [`Not Before: ${instantOf('notBefore', fields.notBefore)}`] : []),
    ...(requestId === undefined ? [] : [`Request ID: ${requestId}`]),
    ...(resources === undefined ? [] : ['Resources:', ...resources.map((resource) => `- ${resource}`)]),
  ];
  // A line break in a field would add lines of its own, which may well follow the grammar.
  const broken = lines.findIndex((line) => /[\r\n]/.test(line));
  if (broken >= 0) throw misfit(`line ${broken + 1} has a line break inside.`);
  const text = lines.join('\n');
  const parsed = parseSignInMessage(text);
  if (!parsed.ok) throw misfit(`the message ${parsed.fault}.`);
  // A scheme in front of it follows the grammar too.
  if (parsed.message.domain !== domain.toLowerCase())
    throw misfit('domain must be a host, with its port if that is not the default.');
  if (bytesOfText(text).length > SIGN_IN_MESSAGE_BYTES_MAX)
    throw misfit(`the message must have at most ${SIGN_IN_MESSAGE_BYTES_MAX} bytes.`);
  return text;
}

function instantOf(name: string, instant: Date): string {
  if (Number.isNaN(instant.getTime())) throw misfit(`${name} must be a valid Date.`);
  return instant.toISOString();
}

const misfit = (detail: string): RolecallError =>
  new RolecallError('config-invalid', `signInMessage: ${detail}`);
