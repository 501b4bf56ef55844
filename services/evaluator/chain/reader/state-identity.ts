import { keccak_256 } from '@noble/hashes/sha3';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils';
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

/** How many endpoints must have shown that the chain keeps hashes before it counts for the others. */
const WITNESSES_MIN = 2;

/**
 * Whether a chain keeps the hashes of its blocks in its state, and whether an answer came from the
 * state of its block; see the README beside this file.
 */
export class KeptHashes {
  /** By endpoint: the lowest block whose state was seen to have its parent's hash. */
  readonly #firstBlocks = new Map<string, number>();

  /** For the answers of one endpoint. */
  of(endpointName: string): IdentifyState {
    return (block, { parent, overwritten }) => {
      const first = this.#firstBlocks.get(endpointName) ?? Number.POSITIVE_INFINITY;
      if (parent === NO_HASH) {
        const witnesses = [...this.#firstBlocks.values()].filter((number) => block.number >= number);
        if (block.number >= first || witnesses.length >= WITNESSES_MIN)
          throw new RpcFailure('block-mismatch');
        return false;
      }
      if (parent !== block.parentHash || overwritten === block.hash) throw new RpcFailure('block-mismatch');
      if (block.number < first) this.#firstBlocks.set(endpointName, block.number);
      return true;
    };
  }
}
