import { type FailureKind, isAbout } from './rpc-failure.ts';

/** A JSON-RPC error object, as far as it is looked at. Its texts are short, because the patterns
 * are matched with them. */
export type RpcErrorObject = {
  readonly code: number;
  readonly message: string;
  readonly data?: string | undefined;
};

/**
 * Error messages of clients and providers for failures with a code of their own in a result.
 * Collected from go-ethereum, Erigon, Nethermind, Besu, Reth, Anvil, Alchemy, Infura, QuickNode and
 * Ankr; the order matters.
 *
 * Words that are missing here never cost a verdict or an endpoint: an unknown error decides no
 * rule, adds no strike, and at a new block means that the node does not have it yet.
 */
const PATTERNS: readonly (readonly [RegExp, FailureKind])[] = [
  // First, because a contract chooses its own revert reason, such as "revert: rate limit". Only
  // these words: a revert of `ownerOf` may mean "not owned", and an "upstream reverted the
  // connection" is none.
  [
    /\bexecution reverted\b|^(error: )?(vm exception while processing transaction: revert|transaction reverted\b|revert(ed)?\b)/i,
    'reverted',
  ],
  [
    /rate.?limit|too many requests?|throttl|(request|capacity|usage|quota|rps|cu) ?limit|exceed.*(quota|capacity)|(quota|capacity) (is |was |has been )?exceeded/i,
    'rate-limited',
  ],
  [
    /override|too many arguments|too many params|expected (at most )?2 (params|arguments)/i,
    'override-refused',
  ],
  [
    /out ?of ?gas|OOG|gas uint64 overflow|gas (limit|required|cap)|intrinsic gas|exceeds (block )?gas/i,
    'gas-exhausted',
  ],
  [/(evm|execution) (timeout|aborted)/i, 'evm-timeout'],
  [
    /too large|entity too|size (limit|exceed)|batch (limit|size|too)|max(imum)? (batch|response|request)|payload/i,
    'too-large',
  ],
  // Halts of the EVM, which use up all gas.
  [
    /invalid ?(fe ?)?opcode|opcode ?not ?found|invalid ?jump|stack ?(underflow|overflow|limit)|bad instruction/i,
    'gas-exhausted',
  ],
  [/write protection|(during|inside) ?static|out ?of ?(offset|bounds)|not ?activated/i, 'gas-exhausted'],
  // Any words that deny a block, a state or history: of nodes that are behind, were pruned or have
  // no archive. Anchored: else each character of a long text is a beginning, and an array of errors
  // takes seconds.
  [
    /^(?=.*(block|header|state|trie|hash|canonical|histor|resource|data))(?=.*(\bno|not|un|missing|ahead|beyond|future|prun|archive|out ?of ?range))/is,
    'block-unavailable',
  ],
];

/** `execution reverted` of go-ethereum and compatible clients. */
const REVERTED = 3;
/** Execution failed, of OpenEthereum and Nethermind, whose data tells the cause. */
const EXECUTION_FAILED = -32_015;
/** The HTTP status of a rate limit, which providers also use as a code. */
const TOO_MANY_REQUESTS = 429;
/** EIP-1474: limit exceeded; resource not found; resource unavailable. */
const LIMIT_EXCEEDED = -32_005;
const RESOURCE_NOT_FOUND = -32_001;
const RESOURCE_UNAVAILABLE = -32_002;
/** JSON-RPC 2.0: the method does not exist. */
const METHOD_NOT_FOUND = -32_601;

/**
 * Classifies a JSON-RPC error. An unknown error is the endpoint's fault (`rpc-error`) and never
 * decides a rule.
 *
 * @example
 * classifyRpcError({ code: -32000, message: 'header not found' }); // 'block-unavailable'
 */
export function classifyRpcError(error: RpcErrorObject): FailureKind {
  if (error.code === TOO_MANY_REQUESTS) return 'rate-limited';
  if (error.code === METHOD_NOT_FOUND) return 'method-unsupported';
  if (error.code === EXECUTION_FAILED) return classifyExecution(error);
  const known = kindOf(error.message);
  // Hardhat 3 reports an invalid opcode with the code of a revert, and nodes that pass on the codes
  // of gRPC an invalid argument.
  if (error.code === REVERTED && known !== 'gas-exhausted' && isRevertData(error.data ?? ''))
    return 'reverted';
  if (known !== undefined) return known;
  if (error.code === LIMIT_EXCEEDED) return 'rate-limited';
  // go-ethereum reports its own time limit with the code of an unavailable resource.
  const isMissing = error.code === RESOURCE_UNAVAILABLE && !/timed? ?out/i.test(error.message);
  return isMissing || error.code === RESOURCE_NOT_FOUND ? 'block-unavailable' : 'rpc-error';
}

/** Whether an error has the code of a limit, and no words of a limit of the rate. */
export const isAnyLimit = ({ code, message }: RpcErrorObject): boolean =>
  code === LIMIT_EXCEEDED && kindOf(message) !== 'rate-limited';

/** A cause that is not known counts as used-up gas, which decides no rule: a reverted `ownerOf` may mean
 * "not owned". */
function classifyExecution({ message, data = '' }: RpcErrorObject): FailureKind {
  const text = `${message} ${data}`;
  if (/\brevert/i.test(text)) return 'reverted';
  const known = kindOf(text);
  if (known !== undefined && isAbout(known, 'contract')) return known;
  return isRevertData(data) ? 'reverted' : 'gas-exhausted';
}

const kindOf = (text: string): FailureKind | undefined =>
  PATTERNS.find(([pattern]) => pattern.test(text))?.[1];

/** Whether the data of an error holds bytes that a contract reverted with; some clients put words
 * around them. */
export const isRevertData = (data: string): boolean => /^(?:Reverted |err: )?0x[0-9a-fA-F]{2}/.test(data);

/**
 * Whether the data of an error, or what a call returned, is `Panic(1)`: so `assert` fails since
 * Solidity 0.8; before, it was an invalid opcode. It says that the contract is broken, and nothing
 * about what was asked.
 */
export const isAssertion = (data: string): boolean =>
  /^(?:(?:Reverted |err: )?0x)?4e487b710{63}1(?![0-9a-f])/i.test(data);
