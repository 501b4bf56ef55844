import { classifyRpcError, type RpcErrorObject } from './classify-rpc-error.ts';
import type { FailureKind } from './rpc-failure.ts';

/**
 * Error messages of clients and providers about `eth_getLogs`. Collected from go-ethereum, Erigon, Nethermind, Reth,
 * Arbitrum Nitro, Alchemy, Infura, QuickNode, Ankr, Chainstack, BlockPI, dRPC and PublicNode; the order matters.
 */
const PATTERNS: readonly (readonly [RegExp, FailureKind])[] = [
  // A range that ends above the node's head: the node is behind. Older nodes answer with fewer logs instead.
  [/(beyond|ahead of|greater than|after|past) (the )?(current |chain )?(head|latest)/i, 'block-unavailable'],
  [/(head|latest) block/i, 'block-unavailable'],
  [
    /addresses? specified|(max|many|number of|few(er)?|less) (of )?address|address(es)? (limit|filter)|addresses? per/i,
    'too-many-addresses',
  ],
  [/rate limit|too many requests|request limit|exceeded .*(quota|capacity|throughput)/i, 'rate-limited'],
  [/(block|query|log)s? ?(range|span|distance)|range .*(large|wide|exceed|limit|allowed)/i, 'too-many-logs'],
  [/ranges? (over|of more)|max(imum)? range|blocks? range|blocks distance/i, 'too-many-logs'],
  [/too many (blocks|logs|results|events)|number of (requested )?blocks|at most .* blocks/i, 'too-many-logs'],
  [/(more than|exceeds?( the)?( max| limit)?( of)?) ?\d* ?(results|logs)|limited to/i, 'too-many-logs'],
  [/log response|response (size|too)|query (timeout|timed|exceeds|must be)|exceeds? limit/i, 'too-many-logs'],
  [
    /method .*(not|unsupported|disabled)|(not|un) ?(supported|whitelisted|available) .*method|unsupported method/i,
    'method-unsupported',
  ],
];

/** EIP-1474: limit exceeded. Of `eth_getLogs` it is the number of logs or blocks more often than the rate. */
const LIMIT_EXCEEDED = -32_005;
const METHOD_NOT_FOUND = -32_601;

/**
 * Classifies a JSON-RPC error of `eth_getLogs`.
 *
 * @example
 * classifyLogError({ code: -32005, message: 'query returned more than 10000 results' }); // 'too-many-logs'
 */
export function classifyLogError(error: RpcErrorObject): FailureKind {
  const known = PATTERNS.find(([pattern]) => pattern.test(error.message));
  if (known !== undefined) return known[1];
  if (error.code === METHOD_NOT_FOUND) return 'method-unsupported';
  const kind = classifyRpcError(error);
  return error.code === LIMIT_EXCEEDED && kind === 'rate-limited' ? 'too-many-logs' : kind;
}
