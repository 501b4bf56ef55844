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

const ZERO_WORD = `0x${'0'.repeat(64)}`;
const WORD = /^0x[0-9a-f]{64}$/;
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

function parseLog(raw: unknown): TransferLog {
  if (typeof raw !== 'object' || raw === null) throw new RpcFailure('malformed');
  const { address, blockNumber, blockHash, logIndex, topics, data, removed, transactionHash } = raw as Record<
    string,
    unknown
  >;
  const isWhole =
    typeof address === 'string' &&
    isQuantity(blockNumber) &&
    typeof blockHash === 'string' &&
    typeof data === 'string' &&
    Array.isArray(topics) &&
    removed !== true;
  if (!isWhole) throw new RpcFailure('malformed');
  const hash = blockHash.toLowerCase();
  const words = topics.map((topic) => String(topic).toLowerCase());
  if (!WORD.test(hash) || !words.every((word) => WORD.test(word))) throw new RpcFailure('malformed');
  return {
    position: typeof logIndex === 'string' ? logIndex : [address, ...words, data].join(),
    contract: address.toLowerCase(),
    blockNumber: Number.parseInt(blockNumber, 16),
    blockHash: hash,
    accounts: accountsOf(words, data.toLowerCase()),
    ...(isQuantity(logIndex) ? { logIndex: Number.parseInt(logIndex, 16) } : {}),
    ...(typeof transactionHash === 'string' && WORD.test(transactionHash.toLowerCase())
      ? { transactionHash: transactionHash.toLowerCase() }
      : {}),
  };
}

const isQuantity = (value: unknown): value is string =>
  typeof value === 'string' && /^0x[0-9a-fA-F]{1,13}$/.test(value);

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
