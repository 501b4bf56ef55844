import { z } from 'zod';
import { hash, quantity } from '../blocks/block.ts';
import type { RpcRequest } from '../rpc/connect-rpc.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';

/** `Transfer(address,address,uint256)`, of ERC20 and ERC721. */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** `TransferSingle(address,address,address,uint256,uint256)`, of ERC1155. */
const TRANSFER_SINGLE = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62';
/** `TransferBatch(address,address,address,uint256[],uint256[])`, of ERC1155. */
const TRANSFER_BATCH = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb';

export const TRANSFER_TOPICS: readonly string[] = [TRANSFER, TRANSFER_SINGLE, TRANSFER_BATCH];

/** One transfer event. */
export type TransferLog = {
  /** Names the event within its block: equal for the same event from two endpoints. */
  readonly position: string;
  /** Lower case, as are the hash and the accounts. */
  readonly contract: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  /** The sender and the receiver, without the zero address of a mint or burn. */
  readonly accounts: readonly string[];
  /** Which event it is, as far as the endpoint says it. */
  readonly transactionHash?: string | undefined;
  readonly logIndex?: number | undefined;
};

/** The filter of a call of `eth_getLogs`; both blocks are included. */
export type LogRange = {
  readonly fromBlock: number;
  readonly toBlock: number;
  /** Lower case. */
  readonly contracts: readonly string[];
};

/** @param blockHash in place of the blocks' numbers */
export function logsRequest({ fromBlock, toBlock, contracts }: LogRange, blockHash?: string): RpcRequest {
  const range = { fromBlock: `0x${fromBlock.toString(16)}`, toBlock: `0x${toBlock.toString(16)}` };
  const blocks = blockHash === undefined ? range : { blockHash };
  const filter = { ...blocks, address: contracts, topics: [TRANSFER_TOPICS] };
  return { method: 'eth_getLogs', params: JSON.stringify([filter]) };
}

const ZERO_WORD = `0x${'0'.repeat(64)}`;
const ADDRESS_WORD = /^0x0{24}[0-9a-f]{40}$/;
/** Parameters of an event that may be addresses: operator, sender, receiver. */
const ADDRESS_WORDS_MAX = 3;

/**
 * Parses the answer to `eth_getLogs`. An answer that does not fit its request is refused as a
 * whole: a log of another block, contract or event, a removed or pending log, or two hashes for one
 * block number. `null` is an answer without logs: the caller has seen that the endpoint has the
 * blocks.
 *
 * @throws RpcFailure `malformed`, `block-mismatch`
 */
export function parseTransferLogs(answer: unknown, range: LogRange): TransferLog[] {
  if (answer === null) return [];
  if (!Array.isArray(answer)) throw new RpcFailure('malformed');
  const contracts = new Set(range.contracts);
  const hashes = new Map<number, string>();
  return answer.map((raw) => {
    const log = parseLog(raw);
    const isOutside = log.blockNumber < range.fromBlock || log.blockNumber > range.toBlock;
    if (isOutside || !contracts.has(log.contract)) throw new RpcFailure('malformed');
    const known = hashes.get(log.blockNumber) ?? log.blockHash;
    if (known !== log.blockHash) throw new RpcFailure('block-mismatch');
    hashes.set(log.blockNumber, known);
    return log;
  });
}

const Log = z.object({
  address: z.string().toLowerCase(),
  blockNumber: quantity,
  blockHash: hash,
  topics: z.array(hash),
  data: z.string().toLowerCase(),
  removed: z
    .unknown()
    .optional()
    .refine((removed) => removed !== true),
  logIndex: z.string().optional().catch(undefined),
  transactionHash: hash.optional().catch(undefined),
});

function parseLog(raw: unknown): TransferLog {
  const parsed = Log.safeParse(raw);
  if (!parsed.success) throw new RpcFailure('malformed');
  const { address: contract, blockNumber, blockHash, topics, data, logIndex, transactionHash } = parsed.data;
  return {
    position: logIndex ?? [contract, ...topics, data].join(),
    contract,
    blockNumber,
    blockHash,
    accounts: accountsOf(topics, data),
    transactionHash,
    logIndex: quantity.safeParse(logIndex).data,
  };
}

/**
 * Returns the accounts that an event names. Contracts older than the standards do not index their
 * parameters (CryptoKitties indexes none), so any of the first words that may be an address counts:
 * an account too many names no member, an account too few would miss one.
 */
function accountsOf([event = '', ...indexed]: readonly string[], data: string): string[] {
  if (!TRANSFER_TOPICS.includes(event)) throw new RpcFailure('malformed');
  if (event === TRANSFER && indexed.length >= 2) return addressesOf(indexed.slice(0, 2));
  if (event !== TRANSFER && indexed.length === 3) return addressesOf(indexed.slice(1));
  const words = [...indexed];
  for (let at = 2; words.length < ADDRESS_WORDS_MAX && at + 64 <= data.length; at += 64)
    words.push(`0x${data.slice(at, at + 64)}`);
  return addressesOf(words);
}

const addressesOf = (words: readonly string[]): string[] => [
  ...new Set(
    words
      .filter((word) => word !== ZERO_WORD && ADDRESS_WORD.test(word))
      .map((word) => `0x${word.slice(-40)}`),
  ),
];
