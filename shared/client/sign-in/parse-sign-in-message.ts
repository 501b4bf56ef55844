import {
  parseSignInMessage as parse,
  SIGN_IN_MESSAGE_BYTES_MAX,
} from '../../contracts/sign-in/sign-in-message.ts';
import { RolecallError } from '../http/rolecall-error.ts';
import { bytesOfText } from '../verify/base64.ts';
import type { SignInMessageFields } from './sign-in-message.ts';

/** The fields of a visitor's sign-in message that a server compares. */
export type ParsedSignInMessage = Pick<SignInMessageFields, 'domain' | 'address' | 'chainId' | 'nonce'>;

/**
 * Reads the text that a visitor sent, by the same grammar as the gateway. A search in the text does
 * not do: the statement of a message may say anything, `Chain ID: 1` too.
 *
 * It proves nothing: the check that takes the text in `signIn` does.
 *
 * @throws RolecallError `sign-in-malformed`, as the gateway would
 *
 * @example
 * if (parseSignInMessage(message).chainId !== 1) return response.sendStatus(401);
 */
export function parseSignInMessage(text: unknown): ParsedSignInMessage {
  if (typeof text !== 'string') throw malformed('must be a text.');
  if (bytesOfText(text).length > SIGN_IN_MESSAGE_BYTES_MAX)
    throw malformed(`must have at most ${SIGN_IN_MESSAGE_BYTES_MAX} bytes.`);
  const parsed = parse(text);
  if (!parsed.ok) throw malformed(`${parsed.fault}.`);
  const { domain, address, chainId, nonce } = parsed.message;
  return { domain, address, chainId, nonce };
}

const malformed = (fault: string): RolecallError =>
  new RolecallError('sign-in-malformed', `The message ${fault}`);
