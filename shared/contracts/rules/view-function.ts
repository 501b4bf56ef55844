import { keccak_256 } from '@noble/hashes/sha3';
import { bytesToHex } from '@noble/hashes/utils';
import { LRUCache } from 'lru-cache';
import {
  type AbiType,
  digitsOfWord,
  dynamicBytesOf,
  isDynamic,
  judgeArgument,
  nameOfType,
  parseAbiType,
  wordOf,
} from './abi-type.ts';

/** Bounds of a view function; `services/gateway/docs/pages/rules.md` tells clients. */
const SIGNATURE_LENGTH_MAX = 512;
export const INPUTS_MAX = 8;
const OUTPUT_WORDS_MAX = 16;
const CALLDATA_BYTES_MAX = 1_024;

type Parameter<Type> = { readonly type: Type; readonly name: string | undefined };

type OutputType =
  | AbiType
  | { readonly kind: 'tuple'; readonly members: readonly Parameter<OutputType>[] }
  /** `length` is absent if it is only known once the contract answers. */
  | { readonly kind: 'array'; readonly of: OutputType; readonly length: number | undefined };

export type ViewFunction = {
  readonly name: string;
  /** Its first four bytes of calldata, 8 hexadecimal digits without `0x`. */
  readonly selector: string;
  readonly inputs: readonly Parameter<AbiType>[];
  /** At least one. */
  readonly outputs: readonly Parameter<OutputType>[];
  /** The words in the head of the returned data: a static output is there as it is, a dynamic one as
   * one word, its offset. */
  readonly wordCount: number;
};

type ParsedViewFunction =
  | { readonly ok: true; readonly fn: ViewFunction }
  /** `detail` is a predicate, such as "must be a view or pure function". */
  | { readonly ok: false; readonly detail: string };

/** The signatures parsed lately, faulty ones too: a client sends the same few in each of its
 * checks. */
const parsed = new LRUCache<string, ParsedViewFunction>({ max: 5_000 });

const ALLOWED = /^[A-Za-z0-9_$ ,()[\]]*$/;
const TOKENS = /[A-Za-z0-9_$]+|[(),[\]]/g;
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
/** Words of the language that cannot be the name of a function or of a parameter. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['function', 'returns', 'view', 'pure', 'payable', 'nonpayable', 'constant', 'external', 'public'],
  ...['internal', 'private', 'virtual', 'override', 'memory', 'calldata', 'storage', 'indexed'],
]);
const TYPES = 'uintN, intN, bool, address, bytesN, string and bytes';

/**
 * Parses a human-readable Solidity signature of a view function. Length and characters are checked
 * before anything else, and the parser reads each of the at most 512 characters once, so no text
 * makes it slow.
 *
 * @example
 * parseViewFunction('function tierOf(address member, uint256 club) view returns (uint8 tier, bool active)');
 * // { ok: true, fn: { name: 'tierOf', selector: '…', inputs: […], outputs: […] } }
 */
export function parseViewFunction(text: string): ParsedViewFunction {
  if (text.length > SIGNATURE_LENGTH_MAX)
    return { ok: false, detail: `must have at most ${SIGNATURE_LENGTH_MAX} characters` };
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const result = parseShort(text);
  parsed.set(text, result);
  return result;
}

/** Why a signature is refused, as a predicate. */
class Refusal extends Error {}

function parseShort(text: string): ParsedViewFunction {
  if (!ALLOWED.test(text))
    return {
      ok: false,
      detail: 'must hold only letters, digits, "_", "$", spaces, commas and parentheses, without a semicolon',
    };
  try {
    return { ok: true, fn: parseTokens(new Tokens(text.match(TOKENS) ?? [])) };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, detail: error.message };
    throw error;
  }
}

class Tokens {
  readonly #tokens: readonly string[];
  #next = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  get peek(): string | undefined {
    return this.#tokens[this.#next];
  }

  take(): string | undefined {
    const token = this.peek;
    this.#next += 1;
    return token;
  }

  takeIf(token: string): boolean {
    if (this.peek !== token) return false;
    this.#next += 1;
    return true;
  }

  require(token: string, place: string): void {
    if (!this.takeIf(token)) throw new Refusal(`must have "${token}" ${place}`);
  }
}

function parseTokens(tokens: Tokens): ViewFunction {
  if (!tokens.takeIf('function'))
    throw new Refusal(
      'must begin with "function", such as "function balanceOf(address) view returns (uint256)"',
    );
  const name = requireName(tokens.take(), 'a function');
  tokens.require('(', 'after the name of the function');
  const inputs = parseParameters(tokens, 'input').map(requireScalar);
  parseModifiers(tokens);
  if (!tokens.takeIf('returns')) throw new Refusal('must name its return types, as in "returns (uint256)"');
  tokens.require('(', 'after "returns"');
  const outputs = parseParameters(tokens, 'output');
  if (tokens.peek !== undefined) throw new Refusal('must end after its return types');
  if (inputs.length > INPUTS_MAX) throw new Refusal(`must have at most ${INPUTS_MAX} inputs`);
  requireDistinctNames(outputs);
  const wordCount = countWords(outputs);
  if (wordCount === 0 || wordCount > OUTPUT_WORDS_MAX)
    throw new Refusal(`must have outputs of 1 to ${OUTPUT_WORDS_MAX} words`);
  const signature = `${name}(${inputs.map(({ type }) => nameOfType(type)).join(',')})`;
  return { name, selector: bytesToHex(keccak_256(signature)).slice(0, 8), inputs, outputs, wordCount };
}

/** `view` or `pure`, beside which a function may be `external` or `public`. */
function parseModifiers(tokens: Tokens): void {
  const found = { mutability: 0, visibility: 0 };
  for (let token = tokens.peek; token !== undefined && token !== 'returns'; token = tokens.peek) {
    if (token === 'view' || token === 'pure') found.mutability += 1;
    else if (token === 'external' || token === 'public') found.visibility += 1;
    else throw new Refusal(`must not have "${token}" after the inputs`);
    tokens.take();
  }
  if (found.mutability !== 1 || found.visibility > 1)
    throw new Refusal('must be declared "view" or "pure", once');
}

type Role = 'input' | 'output';

function parseParameters(tokens: Tokens, role: Role): Parameter<OutputType>[] {
  const parameters: Parameter<OutputType>[] = [];
  if (tokens.takeIf(')')) return parameters;
  do parameters.push(parseParameter(tokens, role));
  while (tokens.takeIf(','));
  tokens.require(')', `after the ${role}s`);
  return parameters;
}

function parseParameter(tokens: Tokens, role: Role): Parameter<OutputType> {
  const type = parseType(tokens, role);
  const hasLocation = type.kind === 'tuple' || type.kind === 'array' || isDynamic(type);
  if (hasLocation && !tokens.takeIf('memory')) tokens.takeIf('calldata');
  const isNamed = tokens.peek !== undefined && !/^[(),[\]]$/.test(tokens.peek);
  return { type, name: isNamed ? requireName(tokens.take(), `an ${role}`) : undefined };
}

function parseScalar(tokens: Tokens, role: Role): AbiType {
  const token = tokens.take();
  const type = token === undefined ? undefined : parseAbiType(token);
  if (type !== undefined) return type;
  const others = role === 'output' ? ', and tuples and arrays of these' : '';
  throw new Refusal(
    `must have ${role}s of the types ${TYPES}${others}${token === undefined ? '' : `; "${token}" is not supported`}`,
  );
}

function requireScalar({ type, name }: Parameter<OutputType>): Parameter<AbiType> {
  if (type.kind === 'tuple' || type.kind === 'array') throw new Refusal('must not have an array as an input');
  return { type, name };
}

function parseType(tokens: Tokens, role: Role): OutputType {
  let type = parseTupleOrScalar(tokens, role);
  while (tokens.takeIf('[')) {
    const length = tokens.peek === ']' ? undefined : requireLength(tokens.take());
    tokens.require(']', 'after the length of an array');
    type = { kind: 'array', of: type, length };
  }
  return type;
}

function parseTupleOrScalar(tokens: Tokens, role: Role): OutputType {
  const isTuple = tokens.peek === 'tuple' || tokens.peek === '(';
  if (isTuple && role === 'input') throw new Refusal('must not have a tuple as an input');
  if (tokens.takeIf('tuple')) tokens.require('(', 'after "tuple"');
  else if (!tokens.takeIf('(')) return parseScalar(tokens, role);
  const members = parseParameters(tokens, role);
  if (members.length === 0) throw new Refusal('must not have an empty tuple');
  requireDistinctNames(members);
  return { kind: 'tuple', members };
}

function requireLength(token: string | undefined): number {
  if (token !== undefined && /^[1-9][0-9]*$/.test(token)) return Number(token);
  throw new Refusal(`must have the length of an array where it has "${token ?? ''}"`);
}

function requireDistinctNames(parameters: readonly Parameter<unknown>[]): void {
  const names = parameters.flatMap(({ name }) => name ?? []);
  if (new Set(names).size < names.length) throw new Refusal('must not name two outputs alike');
}

/** Whether the head has only the offset of a value, which may stand anywhere behind. */
function isAtOffset(type: OutputType): boolean {
  if (type.kind === 'tuple') return type.members.some((member) => isAtOffset(member.type));
  if (type.kind === 'array') return type.length === undefined || isAtOffset(type.of);
  return isDynamic(type);
}

/** How many words of the head a value takes. */
function wordsOf(type: OutputType): number {
  if (isAtOffset(type)) return 1;
  if (type.kind === 'tuple') return countWords(type.members);
  return type.kind === 'array' ? (type.length ?? 0) * wordsOf(type.of) : 1;
}

const countWords = (parameters: readonly Parameter<OutputType>[]): number =>
  parameters.reduce((sum, { type }) => sum + wordsOf(type), 0);

function requireName(token: string | undefined, of: string): string {
  if (token !== undefined && IDENTIFIER.test(token) && !RESERVED.has(token)) return token;
  throw new Refusal(`must have the name of ${of} where it has "${token ?? ''}"`);
}

/** A compared output: a static scalar, and its word in the head of the returned data, from 0. */
type Output = { readonly word: number; readonly type: AbiType };

type FoundOutput =
  | ({ readonly ok: true } & Output)
  /** `detail` is a predicate. `unknown-output`: there is none; `function-unsupported`: it cannot be
   * compared. */
  | {
      readonly ok: false;
      readonly code: 'unknown-output' | 'function-unsupported';
      readonly detail: string;
    };

/**
 * Finds the output that a rule compares.
 *
 * @param returns its path: names or indices from 0, with a point between two; by default the first
 *   output
 * @example
 * findOutput(fn, 'position.liquidity'); // { ok: true, word: 2, type: { kind: 'uint', bits: 128 } }
 */
export function findOutput(fn: ViewFunction, returns = '0'): FoundOutput {
  // Outputs are found as the members of a tuple are, but for that the head is always there.
  let found: OutputType = { kind: 'tuple', members: fn.outputs };
  let word = 0;
  for (const [depth, step] of returns.split('.').entries()) {
    if (depth > 0 && isAtOffset(found)) return { ok: false, code: 'function-unsupported', detail: NO_PLACE };
    const child: Child | undefined = childOf(found, step);
    if (child === undefined)
      return { ok: false, code: 'unknown-output', detail: `must name an output: ${describeOutputs(fn)}` };
    word += child.word;
    found = child.type;
  }
  if (found.kind !== 'tuple' && found.kind !== 'array' && !isDynamic(found))
    return { ok: true, word, type: found };
  const detail = isAtOffset(found)
    ? NO_PLACE
    : `must lead to one value, not to ${found.kind === 'tuple' ? 'a tuple' : 'an array'}: ${describeOutputs(fn)}`;
  return { ok: false, code: 'function-unsupported', detail };
}

const NO_PLACE =
  'must lead to a value of a fixed size at a fixed place: a string, bytes, an array without a length, and a tuple or an array that holds one of them are not supported';

type Child = { readonly word: number; readonly type: OutputType };

/** The member of a tuple, or the entry of a fixed array, by its name or index. */
function childOf(type: OutputType, step: string): Child | undefined {
  const index = /^(?:0|[1-9][0-9]{0,2})$/.test(step) ? Number(step) : -1;
  if (type.kind === 'array')
    return index >= 0 && index < (type.length ?? 0)
      ? { word: index * wordsOf(type.of), type: type.of }
      : undefined;
  if (type.kind !== 'tuple') return undefined;
  const at = index < 0 ? type.members.findIndex(({ name }) => name === step) : index;
  const member = type.members[at];
  return member && { word: countWords(type.members.slice(0, at)), type: member.type };
}

/** The paths of all outputs that can be compared, by index and, where each step has one, by name. */
function describeOutputs({ outputs }: ViewFunction): string {
  const paths = pathsIn(outputs, '', '');
  return paths.length === 0 ? 'none can be compared' : paths.join(', ');
}

function pathsIn(
  parameters: readonly Parameter<OutputType>[],
  before: string,
  names: string | undefined,
): string[] {
  return parameters.flatMap(({ type, name }, index) => {
    const path = `${before}${index}`;
    const named = names === undefined || name === undefined ? undefined : `${names}${name}`;
    if (isAtOffset(type)) return [];
    if (type.kind !== 'tuple' && type.kind !== 'array')
      return named === undefined ? path : `${path} (${named})`;
    const inside =
      type.kind === 'tuple'
        ? type.members
        : Array.from({ length: type.length ?? 0 }, (_, at) => ({ type: type.of, name: String(at) }));
    return pathsIn(inside, `${path}.`, named && `${named}.`);
  });
}

type EncodedCall =
  | { readonly ok: true /** Hex without `0x`. */; readonly calldata: string }
  /** `index` is the faulty argument's; absent if the arguments are wrong as a whole. */
  | { readonly ok: false; readonly index?: number; readonly detail: string };

/**
 * Encodes a call of the function.
 *
 * @param account the wallet that replaces `$account`
 * @example
 * encodeCall(fn, ['$account', '7'], '0x…'); // { ok: true, calldata: '1c2d…' }
 */
export function encodeCall(fn: ViewFunction, args: readonly string[], account: string): EncodedCall {
  const expected = fn.inputs.length;
  if (args.length !== expected)
    return { ok: false, detail: `must have ${expected} texts, one per input of the function` };
  let head = '';
  let tail = '';
  for (const [index, { type }] of fn.inputs.entries()) {
    const text = args[index] ?? '';
    const detail = judgeArgument(type, text);
    if (detail !== undefined) return { ok: false, index, detail };
    if (!isDynamic(type)) {
      head += digitsOfWord(wordOf(type, text, account));
      continue;
    }
    const digits = dynamicBytesOf(type, text);
    head += digitsOfWord(BigInt(32 * expected + tail.length / 2));
    tail += digitsOfWord(BigInt(digits.length / 2)) + digits.padEnd(Math.ceil(digits.length / 64) * 64, '0');
  }
  const calldata = fn.selector + head + tail;
  return calldata.length <= 2 * CALLDATA_BYTES_MAX
    ? { ok: true, calldata }
    : { ok: false, detail: `must encode to at most ${CALLDATA_BYTES_MAX} bytes of calldata` };
}

/** A name for long calldata, equal exactly where the calldata is. */
export const digestOfCalldata = (calldata: string): string => bytesToHex(keccak_256(calldata));
