import { z } from 'zod';
import type { BlockTag } from '#shared/contracts/rules/rule.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Rpc, RpcRequest } from '../rpc/connect-rpc.ts';
import { RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';

/** The fields of a block header that are used. */
export type Block = {
  readonly number: number;
  /** `0x` and 64 hex digits, lower case, as is `parentHash`. */
  readonly hash: string;
  readonly parentHash: string;
  /** Unix seconds. */
  readonly timestamp: number;
};

/** A number of at most 13 digits in hex. */
export const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,13}$/)
  .transform((hex) => Number.parseInt(hex, 16));
/** 32 bytes in hex, in lower case from here on. */
export const hash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .transform((hex) => hex.toLowerCase());

const Header = z.object({ number: quantity, hash, parentHash: hash, timestamp: quantity });

/** @throws RpcFailure `block-unavailable` if the endpoint has no such block, `malformed` if the
 * answer is not a header */
function parseBlock(answer: unknown): Block {
  if (answer === null) throw new RpcFailure('block-unavailable');
  const parsed = Header.safeParse(answer);
  if (!parsed.success) throw new RpcFailure('malformed');
  return parsed.data;
}

/** @throws RpcFailure as `parseBlock` does, `block-mismatch` if the header has another number */
export function parseBlockAt(number: number, answer: unknown): Block {
  const block = parseBlock(answer);
  if (block.number !== number) throw new RpcFailure('block-mismatch');
  return block;
}

export const headerRequest = (number: number): RpcRequest => ({
  method: 'eth_getBlockByNumber',
  params: `["0x${number.toString(16)}",false]`,
});

/**
 * Verifies that a call ran at a block, by the number and the parent's hash that it returned beside
 * its answer.
 *
 * @throws RpcFailure `block-mismatch` if another block answered, `block-hash-mismatch` if only the
 *   hash of its parent is another one
 */
export function verifyBlock(
  ranAt: { readonly blockNumber: bigint; readonly parentHash: string },
  block: Block,
): void {
  if (ranAt.blockNumber !== BigInt(block.number)) throw new RpcFailure('block-mismatch');
  if (ranAt.parentHash !== block.parentHash) throw new RpcFailure('block-hash-mismatch');
}

/** A block as the block parameter of a call, in JSON: by hash (EIP-1898) or by number. */
export const blockParameter = (block: Block, pin: 'hash' | 'number'): string =>
  pin === 'hash' ? `{"blockHash":"${block.hash}"}` : `"0x${block.number.toString(16)}"`;

/** Asks for the header at a number. @throws RpcFailure `block-unavailable` if it is not there */
const askHeader = (number: number, signal: AbortSignal) => async (rpc: Rpc) =>
  parseBlockAt(number, await rpc.call(headerRequest(number), signal));

/** Any error that the endpoint answers with means that it does not have the block. */
const orMissing = (ask: (rpc: Rpc) => Promise<Block>) => (rpc: Rpc) =>
  ask(rpc).catch((error: unknown) => {
    throw toRpcFailure(error).ofMissingBlock;
  });

/** The block of a number that a client named.
 * @throws RpcFailure `block-unavailable` if the endpoint has no such block */
export const findBlock = (endpoint: Endpoint, number: number, signal: AbortSignal): Promise<Block> =>
  endpoint.useForClient(signal, orMissing(askHeader(number, signal)), 'head', true);

/**
 * The newest block of a tag. Only `latest` is the service's own choice: many endpoints do not know
 * the other tags.
 *
 * @throws RpcFailure `head-in-future` if no such block can exist yet; else as `parseBlock` does
 */
export function fetchBlock(endpoint: Endpoint, tag: BlockTag, signal: AbortSignal): Promise<Block> {
  const request = { method: 'eth_getBlockByNumber', params: `["${tag}",false]` };
  const ask = async (rpc: Rpc): Promise<Block> => {
    const block = parseBlock(await rpc.call(request, signal));
    if (!endpoint.mayHave(block)) throw new RpcFailure('head-in-future');
    return block;
  };
  return tag === 'latest' ? endpoint.use(signal, ask) : endpoint.useForClient(signal, orMissing(ask), 'head');
}

/** Fetches a header below an endpoint's head, as the service's own call. @throws RpcFailure */
export const fetchOwnBlock = (endpoint: Endpoint, number: number, signal: AbortSignal): Promise<Block> =>
  endpoint.use(signal, askHeader(number, signal));

/** Fetches a header as the service's own call, which one node behind the endpoint's URL may not have
 * yet. @throws RpcFailure `block-unavailable` if it is not there */
export const fetchNewBlock = (endpoint: Endpoint, number: number, signal: AbortSignal): Promise<Block> =>
  endpoint.use(signal, orMissing(askHeader(number, signal)));

/** Fetches headers below an endpoint's head in one call, as the service's own.
 * @throws RpcFailure */
export function fetchOwnBlocks(
  endpoint: Endpoint,
  numbers: readonly number[],
  signal: AbortSignal,
): Promise<readonly Block[]> {
  return endpoint.use(signal, async (rpc) => {
    const outcomes = await rpc.callMany(numbers.map(headerRequest), signal);
    return numbers.map((number, index) => {
      const outcome = outcomes[index];
      if (outcome === undefined) throw new RpcFailure('malformed');
      if (!outcome.ok) throw outcome.failure;
      return parseBlockAt(number, outcome.result);
    });
  });
}

/** Fetches the header at a number, for other work than reading balances. @throws RpcFailure */
export const fetchBlockAside = (endpoint: Endpoint, number: number, signal: AbortSignal): Promise<Block> =>
  endpoint.useAside(signal, askHeader(number, signal));
