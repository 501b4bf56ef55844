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
const OUTPUTS_MAX = 16;
const CALLDATA_BYTES_MAX = 1_024;

export type Parameter = { readonly type: AbiType; readonly name: string | undefined };

/** A parsed `view` or `pure` function. */
export type ViewFunction = {
  readonly name: string;
  /** Its first four bytes of calldata, 8 hexadecimal digits without `0x`. */
  readonly selector: string;
  readonly inputs: readonly Parameter[];
  /** At least one, all static. */
  readonly outputs: readonly Parameter[];
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
const OUTPUT_TYPES = 'uintN, intN, bool, address and bytesN';

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
  const inputs = parseParameters(tokens, 'input');
  parseModifiers(tokens);
  if (!tokens.takeIf('returns')) throw new Refusal('must name its return types, as in "returns (uint256)"');
  tokens.require('(', 'after "returns"');
  const outputs = parseParameters(tokens, 'output');
  if (tokens.peek !== undefined) throw new Refusal('must end after its return types');
  if (inputs.length > INPUTS_MAX) throw new Refusal(`must have at most ${INPUTS_MAX} inputs`);
  if (outputs.length === 0 || outputs.length > OUTPUTS_MAX)
    throw new Refusal(`must have 1 to ${OUTPUTS_MAX} outputs`);
  const names = outputs.flatMap((output) => output.name ?? []);
  if (new Set(names).size < names.length) throw new Refusal('must not name two outputs alike');
  const signature = `${name}(${inputs.map(({ type }) => nameOfType(type)).join(',')})`;
  return { name, selector: bytesToHex(keccak_256(signature)).slice(0, 8), inputs, outputs };
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

function parseParameters(tokens: Tokens, role: 'input' | 'output'): Parameter[] {
  const parameters: Parameter[] = [];
  if (tokens.takeIf(')')) return parameters;
  do parameters.push(parseParameter(tokens, role));
  while (tokens.takeIf(','));
  tokens.require(')', `after the ${role}s`);
  return parameters;
}

function parseParameter(tokens: Tokens, role: 'input' | 'output'): Parameter {
  const token = tokens.take();
  if (token === '(' || token === 'tuple') throw new Refusal(`must not have a tuple as an ${role}`);
  const type = token === undefined ? undefined : parseAbiType(token);
  const isAllowed = type !== undefined && (role === 'input' || !isDynamic(type));
  if (!isAllowed)
    throw new Refusal(
      `must have ${role}s of the types ${role === 'input' ? TYPES : OUTPUT_TYPES}${token === undefined ? '' : `; "${token}" is not supported`}`,
    );
  if (tokens.peek === '[') throw new Refusal(`must not have an array as an ${role}`);
  if (isDynamic(type) && !tokens.takeIf('memory')) tokens.takeIf('calldata');
  const isNamed = tokens.peek !== undefined && !/^[(),[\]]$/.test(tokens.peek);
  return { type, name: isNamed ? requireName(tokens.take(), `an ${role}`) : undefined };
}

function requireName(token: string | undefined, of: string): string {
  if (token !== undefined && IDENTIFIER.test(token) && !RESERVED.has(token)) return token;
  throw new Refusal(`must have the name of ${of} where it has "${token ?? ''}"`);
}

type Output = { readonly index: number; readonly type: AbiType };

/**
 * The output that a rule compares: named by its name or its index from 0, by default the first.
 *
 * @returns `undefined` if the function has no such output
 */
export function outputOf(fn: ViewFunction, returns?: string): Output | undefined {
  const isIndex = returns === undefined || /^(?:0|[1-9][0-9]?)$/.test(returns);
  const index = isIndex ? Number(returns ?? 0) : fn.outputs.findIndex(({ name }) => name === returns);
  const output = fn.outputs[index];
  return output && { index, type: output.type };
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
