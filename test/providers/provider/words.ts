import type { Refusal, Words } from '../profile.ts';

const error = (message: string, code = -32_000): Refusal => ({ code, message });

/**
 * The words of clients, from their sources:
 * - go-ethereum 1.17: `eth/api_backend.go` (headers), `eth/filters/api.go` (logs), `trie/errors.go`
 *   and `triedb/pathdb` (states), `core/history` (pruned blocks);
 * - Nitro: go-ethereum's, and `arbitrum/apibackend.go` of its fork; its log filter ends silently at
 *   the head;
 * - Avalanche: coreth `eth/api_backend.go`, and avalanchego 1.14.0 itself
 *   (`npm run test:clients -- avalanche`);
 * - Erigon: `rpc/rpchelper/helper.go` and `core/state`; a number past the head counts as the newest
 *   block.
 */
export const GO_ETHEREUM: Words = {
  unknownHash: error('header for hash not found'),
  unknownNumber: error('header not found'),
  blockPastHead: null,
  logsPastHead: error('block range extends beyond current head block', -32_602),
  logsAtUnknownHash: error('unknown block'),
  missingTag: error('finalized block not found'),
  prunedState: error('missing trie node {hash} (path ) state {hash} is not available'),
};

export const NITRO: Words = {
  ...GO_ETHEREUM,
  unknownHash: error('requested block ahead of current block and the hash is not currently canonical'),
  logsPastHead: 'fewer',
};

export const AVALANCHE: Words = {
  ...GO_ETHEREUM,
  unknownNumber: error('cannot query unfinalized data'),
  blockPastHead: error('cannot query unfinalized data'),
  logsPastHead: error('requested to block {number} after last accepted block'),
};

export const ERIGON: Words = {
  ...GO_ETHEREUM,
  unknownHash: error('block {hash} not found'),
  unknownNumber: error('block not found: {number}'),
  logsPastHead: 'fewer',
  logsAtUnknownHash: error('block not found: {hash}'),
  missingTag: error('unknown block', -39_001),
  prunedState: error('old data not available due to pruning'),
};

/** Words that no client or provider is known to use. */
export const UNHEARD_OF: Words = {
  unknownHash: error('no such page in this almanac', -38_765),
  unknownNumber: error('the almanac ends earlier', -38_766),
  blockPastHead: error('the almanac ends earlier', -38_766),
  logsPastHead: error('the index of the almanac is being printed', -38_767),
  logsAtUnknownHash: error('the index of the almanac is being printed', -38_767),
  missingTag: error('this bookmark was never sold here', -38_768),
  prunedState: error('that volume went to the attic', -38_769),
};
