import type { FailureKind, RpcFailure } from '../rpc/rpc-failure.ts';

/** The remedy of a failure for the operator, by its kind. */
const ADVICE: Partial<Record<FailureKind, string>> = {
  unreachable: 'nothing answers: correct the host and port of its url, or its proxy',
  timeout: 'it does not answer in time: use a faster or a nearer endpoint',
  'rate-limited': 'it refuses for too many calls: set requestsPerSecond below its limit, or use another plan',
  'over-rate': 'requestsPerSecond is too low for the calls of this check',
  'http-status': 'it answers with an HTTP error: correct its url, its headers, or the key in them',
  endless: 'its answer has no end: correct its url',
  malformed: 'its answer is not that of an Ethereum node: correct its url',
  'method-unsupported': 'it does not offer the method',
  'head-in-future': "its newest block is in the future: this host's clock or the endpoint is wrong",
  'block-unavailable': 'it does not have the block',
  'block-mismatch': 'it answers for another block than it was asked for: do not use it',
  'block-hash-mismatch': 'the parent of its block has another hash: do not use it',
};

/**
 * Why a call failed, and what to change: for the operator, without the endpoint's URL and keys.
 *
 * @example
 * describeFailure(new RpcFailure('unreachable')); // 'nothing answers: correct the host …'
 */
export function describeFailure({ kind, words }: RpcFailure): string {
  const advice = ADVICE[kind] ?? `it answers with an error (${kind})`;
  return words === undefined ? advice : `${advice}; it says: ${JSON.stringify(words)}`;
}
