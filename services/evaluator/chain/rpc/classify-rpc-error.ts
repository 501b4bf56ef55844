import type { FailureKind } from './rpc-failure.ts';

/** A JSON-RPC error object, as far as it is looked at. */
export type RpcErrorObject = { readonly code: number; readonly message: string };

/**
 * Error messages of clients and providers for failures that need specific handling. Collected from
 * go-ethereum, Erigon, Nethermind, Besu, Reth, Anvil, Alchemy, Infura, QuickNode and Ankr; the order matters.
 */
const PATTERNS: readonly (readonly [RegExp, FailureKind])[] = [
  // First, because a contract chooses its own revert reason, such as "revert: rate limit".
  [/\brevert/i, 'reverted'],
  [
    /rate limit|too many requests|request limit|exceeded .*(quota|capacity|throughput)|compute units/i,
    'rate-limited',
  ],
  [
    /header not found|unknown block|block not found|block .*not (found|available)|missing trie node|blockoutofrange/i,
    'block-unavailable',
  ],
  [
    /cannot find block|state .*(not available|unavailable|pruned)|is pruned|historical state|resource not found/i,
    'block-unavailable',
  ],
  [
    /block ?hash.*not.*found|could not find block|unknown (hash|header)|not (in )?canonical|ahead of (the )?(chain )?head/i,
    'block-unavailable',
  ],
  [
    /override|too many arguments|too many params|expected (at most )?2 (params|arguments)/i,
    'override-refused',
  ],
  // Of nodes that keep recent states only, and of providers whose plan excludes older ones.
  [/no state (available|found)|\b(pruning|archive)\b/i, 'block-unavailable'],
  [
    /out ?of ?gas|OOG|gas uint64 overflow|gas (limit|required|cap)|intrinsic gas|exceeds (block )?gas/i,
    'gas-exhausted',
  ],
  [/(evm|execution) (timeout|aborted)/i, 'evm-timeout'],
  [
    /too large|entity too|size (limit|exceed)|batch (limit|size|too)|max(imum)? (batch|response|request)|payload/i,
    'too-large',
  ],
  [/invalid ?(fe ?)?opcode|opcode ?not ?found|invalid ?jump|stack ?(underflow|overflow|limit)/i, 'halted'],
  [
    /bad instruction|write protection|(during|inside) ?static|out ?of ?(offset|bounds)|not ?activated/i,
    'halted',
  ],
];

/** `execution reverted` of go-ethereum and compatible clients. */
const REVERTED = 3;
/** Execution failed, of OpenEthereum and Nethermind, whose message has no further detail. */
const EXECUTION_FAILED = -32_015;
/** EIP-1474: limit exceeded; resource not found; resource unavailable. */
const LIMIT_EXCEEDED = -32_005;
const RESOURCE_NOT_FOUND = -32_001;
const RESOURCE_UNAVAILABLE = -32_002;

/**
 * Classifies a JSON-RPC error. An unknown error is the endpoint's fault (`rpc-error`) and never decides a rule.
 *
 * @example
 * classifyRpcError({ code: -32000, message: 'header not found' }); // 'block-unavailable'
 */
export function classifyRpcError(error: RpcErrorObject): FailureKind {
  const known = PATTERNS.find(([pattern]) => pattern.test(error.message));
  if (error.code === REVERTED || error.code === EXECUTION_FAILED)
    // Hardhat 3 reports an invalid opcode with the code of a revert.
    return known?.[1] === 'halted' || known?.[1] === 'gas-exhausted' ? known[1] : 'reverted';
  if (known !== undefined) return known[1];
  if (error.code === LIMIT_EXCEEDED) return 'rate-limited';
  // go-ethereum reports its own time limit with the code of an unavailable resource.
  const isMissing = error.code === RESOURCE_UNAVAILABLE && !/timed? ?out/i.test(error.message);
  return isMissing || error.code === RESOURCE_NOT_FOUND ? 'block-unavailable' : 'rpc-error';
}
