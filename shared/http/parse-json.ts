import { isUtf8 } from 'node:buffer';
import { Problem } from './problem.ts';

/**
 * Parses a JSON text in UTF-8. A byte-order mark in front of it is ignored, because tools of
 * Windows write one.
 *
 * @throws Problem `malformed-json`
 * @example
 * parseJson(Buffer.from('{"a":1,}'), 'The body');
 * // Problem: The body is not JSON: Expected double-quoted property name at position 7.
 */
export function parseJson(bytes: Buffer, subject: string): unknown {
  if (isBlank(bytes)) throw malformed(`${subject} is empty; send a JSON object.`);
  if (!isUtf8(bytes)) throw malformed(`${subject} is not UTF-8.`);
  try {
    return JSON.parse(withoutMark(bytes).toString('utf8'));
  } catch (error) {
    throw malformed(describeJsonError(subject, error));
  }
}

const malformed = (detail: string): Problem => new Problem('malformed-json', detail);

/** White space between JSON values (RFC 8259). */
const SPACES: readonly number[] = [...Buffer.from(' \t\r\n')];

/** Whether there is no value: nothing but white space, behind a byte-order mark or not. */
export const isBlank = (bytes: Buffer): boolean => withoutMark(bytes).every((byte) => SPACES.includes(byte));

/** U+FEFF in UTF-8. */
const withoutMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

/** The engine's reason and place, without the text around the place, which it quotes for some
 * faults. */
const JSON_ERROR = /^(.+?)(?: in JSON)? at position (\d+)/;
/** The character at the fault, where the engine tells no position. Its excerpt may hold secrets. */
const UNEXPECTED = /^Unexpected token '[!-~]'(?=,)/;

function describeJsonError(subject: string, error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  const [, reason, position] = JSON_ERROR.exec(message) ?? [];
  if (reason !== undefined) return `${subject} is not JSON: ${reason} at position ${position}.`;
  const [token] = UNEXPECTED.exec(message) ?? [];
  if (token !== undefined) return `${subject} is not JSON: ${token}.`;
  return `${subject} is not JSON${message.startsWith('Unexpected end') ? ': it ends too early' : ''}.`;
}
