import { AUTHORITY, hasSoundAddress, isUri, PCHARS, SCHEME } from './uri-grammar.ts';

export const SIGN_IN_MESSAGE_BYTES_MAX = 4_096;

/** The fields of a sign-in message that a verifier compares. */
export type SignInMessage = {
  /** The authority, host and port, in lower case. */
  readonly domain: string;
  /** As it was written. */
  readonly address: string;
  readonly chainId: number;
  readonly nonce: string;
  /** Epoch ms, as are the times below. */
  readonly issuedAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly notBeforeMs: number | undefined;
};

/** The message, or what is wrong with its text: a predicate, such as "must have …". */
export type ParsedSignIn =
  | { readonly ok: true; readonly message: SignInMessage }
  | { readonly ok: false; readonly fault: string };

const FIRST_LINE = new RegExp(
  `^(?:${SCHEME}://)?(?<domain>${AUTHORITY}) wants you to sign in with your Ethereum account:$`,
);
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
/** Wider than the grammar, which leaves out some punctuation that people write. */
const STATEMENT = /^[\x20-\x7e]*$/;

const matching = (pattern: RegExp) => (value: string) => pattern.test(value);
const isTime = (value: string): boolean => msOfDateTime(value) !== undefined;
const TIME = 'a time such as 2026-11-21T10:00:00Z';
/** The fields behind the statement, in their order. */
const FIELDS: readonly (readonly [
  label: string,
  isRight: (value: string) => boolean,
  expected: string,
  isOptional?: true,
])[] = [
  ['URI', isUri, 'a URI'],
  ['Version', matching(/^1$/), '1'],
  ['Chain ID', matching(/^[0-9]+$/), 'a decimal number'],
  ['Nonce', matching(/^[0-9A-Za-z]{8,}$/), 'at least 8 letters or digits'],
  ['Issued At', isTime, TIME],
  ['Expiration Time', isTime, TIME, true],
  ['Not Before', isTime, TIME, true],
  ['Request ID', matching(new RegExp(`^${PCHARS}$`)), 'an id of path characters', true],
];

/**
 * Parses a text by the grammar of EIP-4361, "Sign-In with Ethereum". Nothing is trimmed or
 * normalised: lines end in a line feed, the last one in nothing.
 *
 * The checksum of the address is not judged.
 *
 * @example
 * parseSignInMessage('example.com wants you to sign in …'); // { ok: true, message: { domain: 'example.com', … } }
 */
export function parseSignInMessage(text: string): ParsedSignIn {
  try {
    return { ok: true, message: parse(new Lines(text)) };
  } catch (error) {
    if (error instanceof Misfit) return { ok: false, fault: error.message };
    throw error;
  }
}

class Misfit extends Error {}

class Lines {
  readonly #lines: readonly string[];
  #next = 0;

  constructor(text: string) {
    this.#lines = text.split('\n');
  }

  /** @param offset 0 for the line that is read next */
  peek(offset = 0): string | undefined {
    return this.#lines[this.#next + offset];
  }

  take(isRight: (line: string) => boolean, expected: string): string {
    const line = this.#lines[this.#next];
    this.#next += 1;
    if (line === undefined || !isRight(line))
      throw new Misfit(`must follow EIP-4361: line ${this.#next} must be ${expected}`);
    return line;
  }

  field(label: string, isRight: (value: string) => boolean, expected: string): string {
    const start = `${label}: `;
    const line = this.take(
      (text) => text.startsWith(start) && isRight(text.slice(start.length)),
      `"${start}" and ${expected}`,
    );
    return line.slice(start.length);
  }

  end(): void {
    if (this.#next < this.#lines.length)
      throw new Misfit(
        `must follow EIP-4361: line ${this.#next + 1} is not expected there; the message ends without a line feed`,
      );
  }
}

function parse(lines: Lines): SignInMessage {
  const first = lines.take(
    (line) => domainOf(line) !== undefined,
    'a domain, followed by " wants you to sign in with your Ethereum account:"',
  );
  const domain = domainOf(first) ?? '';
  const address = lines.take((line) => ADDRESS.test(line), 'an address');
  const isEmpty = (line: string) => line === '';
  lines.take(isEmpty, 'empty');
  // Without a statement two empty lines follow each other; an empty statement is a third one.
  const hasStatement = lines.peek() !== '' || lines.peek(1) === '';
  if (hasStatement) lines.take((line) => STATEMENT.test(line), 'a statement in printable ASCII');
  lines.take(isEmpty, 'empty');
  const fields: Record<string, string> = {};
  for (const [label, isRight, expected, isOptional] of FIELDS)
    if (!isOptional || lines.peek()?.startsWith(`${label}: `))
      fields[label] = lines.field(label, isRight, expected);
  if (lines.peek() === 'Resources:') {
    lines.take(() => true, '');
    while (lines.peek() !== undefined)
      lines.take((line) => line.startsWith('- ') && isUri(line.slice(2)), '"- " and a URI');
  }
  lines.end();
  return {
    domain: domain.toLowerCase(),
    address,
    chainId: Number(fields['Chain ID']),
    nonce: fields['Nonce'] ?? '',
    issuedAtMs: msOfDateTime(fields['Issued At']) ?? 0,
    expiresAtMs: msOfDateTime(fields['Expiration Time']),
    notBeforeMs: msOfDateTime(fields['Not Before']),
  };
}

function domainOf(firstLine: string): string | undefined {
  const domain = FIRST_LINE.exec(firstLine)?.groups?.['domain'];
  return domain !== undefined && hasSoundAddress(domain) ? domain : undefined;
}

const DATE_TIME =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]((?:[01][0-9]|2[0-3]):[0-5][0-9]):([0-5][0-9]|60)(\.[0-9]+)?([Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$/;

/** Epoch ms of a `date-time` of RFC 3339; `undefined` if it is none, or names a day that does not
 * exist. */
function msOfDateTime(text = ''): number | undefined {
  const [, day = '', minute, second, fraction = '', zone = ''] = DATE_TIME.exec(text) ?? [];
  const dayMs = Date.parse(`${day}T00:00:00Z`);
  // An engine may take 31 April for 1 May.
  if (Number.isNaN(dayMs) || !new Date(dayMs).toISOString().startsWith(day)) return undefined;
  // The second 60 is a leap second, which engines do not parse.
  const minuteMs = Date.parse(`${day}T${minute}:00${zone.toUpperCase()}`);
  return minuteMs + Number(second) * 1_000 + Math.floor(Number(`0${fraction}`) * 1_000);
}
