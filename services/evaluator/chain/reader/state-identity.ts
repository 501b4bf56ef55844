import { keccak_256 } from '@noble/hashes/sha3';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils';
import { LRUCache } from 'lru-cache';
import type { Block } from '../blocks/block.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';
import type { KeptPair } from './reader-codec.ts';

/** The contract of EIP-2935, which keeps the hashes of the last 8 191 blocks in its storage. */
export const HISTORY_ADDRESS = '0x0000f90827f1c53a10cb7a02335b175320002935';
export const HISTORY_BLOCKS = 8_191;
/** keccak-256 of its runtime code; `reader.yul` has the same. */
const HISTORY_CODE_HASH = '6e49e66782037c0555897870e29fa5e552daf4719552131a0abce779daec0a5d';

/** Whether an answer of `eth_getCode` is the code of EIP-2935's contract. */
export const isHistoryCode = (code: unknown): boolean => hashOfCode(code) === HISTORY_CODE_HASH;

/** keccak-256 of an answer of `eth_getCode`, hex without `0x`; `undefined` if it is not code. */
export function hashOfCode(code: unknown): string | undefined {
  if (typeof code !== 'string' || !/^0x([0-9a-fA-F]{2})+$/.test(code)) return undefined;
  return bytesToHex(keccak_256(hexToBytes(code.slice(2))));
}

export const NO_HASH = `0x${'0'.repeat(64)}`;
export const NOTHING_KEPT: KeptPair = { parent: NO_HASH, overwritten: NO_HASH };

/**
 * Returns whether the state that a call of an endpoint read is identified as that of the block.
 *
 * @throws RpcFailure `block-mismatch` if it is the state of another block
 */
export type IdentifyState = (block: Block, kept: KeptPair) => boolean;

/** How long an endpoint's word counts for the others: it is renewed by each call, and by each probe. */
const WORD_MS = 600_000;
const ENDPOINTS_MAX = 100;

/**
 * Whether a chain keeps the hashes of its blocks in its state, and whether an answer came from the
 * state of its block; see the README beside this file.
 */
export class KeptHashes {
  /** The endpoints that have shown a parent's hash, by the lowest block; and those that have none. */
  readonly #firstBlocks = new LRUCache<string, number>({ max: ENDPOINTS_MAX, ttl: WORD_MS });
  readonly #without = new LRUCache<string, true>({ max: ENDPOINTS_MAX, ttl: WORD_MS });

  /** For the answers of one endpoint. */
  of(endpointName: string): IdentifyState {
    return (block, { parent, overwritten }) => {
      const first = this.#firstBlocks.get(endpointName) ?? Number.POSITIVE_INFINITY;
      if (parent === NO_HASH) {
        if (block.number >= first || this.#isOutvoted(endpointName, block))
          throw new RpcFailure('block-mismatch');
        return false;
      }
      if (parent !== block.parentHash || overwritten === block.hash) throw new RpcFailure('block-mismatch');
      this.#firstBlocks.set(endpointName, Math.min(first, block.number));
      this.#without.delete(endpointName);
      return true;
    };
  }

  /** Whether at least as many endpoints have hashes for a block as have none. */
  #isOutvoted(endpointName: string, { number }: Block): boolean {
    const witnesses = [...this.#firstBlocks.values()].filter((first) => number >= first);
    if (witnesses.length > 0) this.#without.set(endpointName, true);
    // Not its size, which counts expired words too.
    return witnesses.length > 0 && witnesses.length >= [...this.#without.keys()].length;
  }
}
