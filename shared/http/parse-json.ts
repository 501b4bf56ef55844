import { isUtf8 } from 'node:buffer';
import { faultAt } from '#shared/contracts/fault.ts';
import { invalidBody, Problem } from './problem.ts';

/**
 * Parses a JSON text in UTF-8. A byte-order mark in front of it is ignored, because tools of
 * Windows write one.
 *
 * @throws Problem `malformed-json`; `validation-failed` if its shape costs far more than its length
 * @example
 * parseJson(Buffer.from('{"a":1,}'), 'The body');
 * // Problem: The body is not JSON: Expected double-quoted property name at position 7.
 */
export function parseJson(bytes: Buffer, subject: string): unknown {
  if (isBlank(bytes)) throw malformed(`${subject} is empty; send a JSON object.`);
  if (!isUtf8(bytes)) throw malformed(`${subject} is not UTF-8.`);
  requireCheapShape(bytes, subject);
  try {
    return JSON.parse(withoutMark(bytes).toString('utf8'));
  } catch (error) {
    throw malformed(describeJsonError(subject, error));
  }
}

/** A shorter text is cheap, whatever its shape. */
const CHEAP_BYTES_MAX = 16 * 1024;
/** Twice as many as the largest valid body has, whose `minBlock` names 1 000 chains: each name
 * costs the parser a microsecond or two, and objects of many names as much again. */
const NAMES_MAX = 4_096;
/** Commas and brackets outside of texts. A body of 2 MiB that is valid has 150 000; 700 000 of the
 * smallest objects take 100 ms. */
const VALUES_MAX = 262_144;
/** Nesting costs as much: 100 ms for 2 MiB. */
const DEPTH_MAX = 131_072;

const [QUOTE, BACKSLASH, COLON, COMMA] = Buffer.from('"\\:,');
const [BRACKET, BRACE, END_BRACKET, END_BRACE] = Buffer.from('[{]}');
/** Random, so that nobody can choose names of one hash. */
const HASH_SEED = Math.floor(Math.random() * 2 ** 30);

/** Refuses a text by its shape, before it is parsed: the parser cannot be interrupted. Takes one or
 * two milliseconds for a MiB. */
function requireCheapShape(bytes: Buffer, subject: string): void {
  if (bytes.length <= CHEAP_BYTES_MAX) return;
  const nameHashes = new Set<number>();
  let [valueCount, depth] = [0, 0];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    const isOpening = byte === BRACE || byte === BRACKET;
    if (isOpening) {
      depth += 1;
      if (depth > DEPTH_MAX) throw malformed(`${subject} nests more than ${DEPTH_MAX} lists or objects.`);
    } else if (byte === END_BRACE || byte === END_BRACKET) depth -= 1;
    if (isOpening || byte === COMMA) {
      valueCount += 1;
      if (valueCount > VALUES_MAX) throw tooMany(VALUES_MAX, 'values');
    }
    if (byte !== QUOTE) continue;
    let hash = HASH_SEED;
    for (at += 1; at < bytes.length && bytes[at] !== QUOTE; at += 1) {
      hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
      if (bytes[at] === BACKSLASH) {
        at += 1;
        hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
      }
    }
    while (SPACES.includes(bytes[at + 1] as number)) at += 1;
    if (bytes[at + 1] !== COLON) continue;
    nameHashes.add(hash & 0x3fffffff);
    if (nameHashes.size > NAMES_MAX) throw tooMany(NAMES_MAX, 'different names of members');
  }
}

const tooMany = (max: number, what: string): Problem =>
  invalidBody([faultAt('', 'too-many', `must have at most ${max} ${what}`)]);

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
