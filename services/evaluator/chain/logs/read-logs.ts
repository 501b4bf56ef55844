import { type Block, fetchBlockAt } from '../blocks/block.ts';
import { askEndpoints } from '../endpoints/ask-endpoints.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { EndpointPool } from '../endpoints/endpoint-pool.ts';
import { type FailureKind, RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { LogLimit } from './log-limit.ts';
import { type LogRange, parseTransferLogs, TRANSFER_TOPICS, type TransferLog } from './transfer-log.ts';

/** Blocks and addresses of one call: at the start, and at most. */
const BLOCKS_FIRST = 1_000;
const BLOCKS_MAX = 5_000;
const ADDRESSES_MAX = 1_000;
/** Calls and logs of one read at one endpoint; a longer range is read by several reads. */
const CALLS_MAX = 300;
const LOGS_MAX = 50_000;
/** Blocks of one read. */
const READ_BLOCKS_MAX = 16_000;
/** An endpoint whose last call for logs failed is asked last for this long. */
const REST_MS = 30_000;
/** How many calls at the learned limit one read is planned for. */
const CALLS_PER_READ = 16;

/** Refusals of a call that asks for too much: a smaller call may be answered. */
const TOO_MUCH: ReadonlySet<FailureKind> = new Set(['too-many-logs', 'too-large', 'endless']);

/** One contract has more transfers in one block than any endpoint returns. */
export class TooManyTransfers extends RpcFailure {
  readonly contract: string;

  constructor(contract: string) {
    super('too-many-logs');
    this.contract = contract;
  }
}

/** A read found more logs than it may hold in memory, or took too many calls: to be read again in smaller reads. */
export class TooManyLogs extends RpcFailure {
  /** The contract with the most logs so far; `undefined`: none had any. */
  readonly contract: string | undefined;

  constructor(logs: readonly TransferLog[]) {
    super('over-rate');
    this.contract = busiestOf(logs);
  }
}

type LogReaderOptions = {
  readonly pool: Pick<
    EndpointPool,
    'candidatesAside' | 'capabilitiesOf' | 'readyInMs' | 'verifyAlive' | 'whyNoCandidate'
  >;
  readonly quorum: number;
  readonly monotonicMs: () => number;
};

type Limits = { readonly blocks: LogLimit; readonly addresses: LogLimit };

/** Reads the transfers of many contracts from the endpoints of one chain, within the limits that it learns of each. */
export class LogReader {
  readonly #options: LogReaderOptions;
  readonly #limits = new WeakMap<Endpoint, Limits>();
  readonly #restingUntilMs = new WeakMap<Endpoint, number>();
  readonly #blocksPerRead = new LogLimit(READ_BLOCKS_MAX, READ_BLOCKS_MAX);

  constructor(options: LogReaderOptions) {
    this.#options = options;
  }

  /** The largest range to ask for in one read. */
  get blocksMax(): number {
    const [best] = this.#candidates();
    const perCall = best === undefined ? BLOCKS_FIRST : this.#limitsOf(best).blocks.current;
    return Math.min(CALLS_PER_READ * perCall, this.#blocksPerRead.current);
  }

  /**
   * Reads the transfers of a range from as many endpoints as the quorum requires, and returns the union: an event that
   * one endpoint reports only causes a check, while an event that one of them withholds would be missed.
   *
   * @param head the block that the answering endpoints must have
   * @throws RpcFailure
   */
  async read(range: LogRange, head: Block, signal: AbortSignal): Promise<TransferLog[]> {
    const answers = await this.#ask(head, this.#options.quorum, signal, (endpoint, ownSignal) =>
      this.#readFrom(endpoint, range, ownSignal),
    );
    const logs = answers.flat();
    const hashes = new Map<number, string>();
    for (const { blockNumber, blockHash } of logs) {
      if ((hashes.get(blockNumber) ?? blockHash) !== blockHash) throw new RpcFailure('block-mismatch');
      hashes.set(blockNumber, blockHash);
    }
    return logs;
  }

  /** Fetches the header at a number, from one endpoint that has the head. @throws RpcFailure */
  async readHeader(number: number, head: Block, signal: AbortSignal): Promise<Block> {
    const [block] = await this.#ask(head, 1, signal, (endpoint, ownSignal) =>
      fetchBlockAt(endpoint, number, ownSignal),
    );
    if (block === undefined) throw new RpcFailure('unreachable');
    return block;
  }

  async #ask<T>(
    head: Block,
    quorum: number,
    signal: AbortSignal,
    ask: (endpoint: Endpoint, signal: AbortSignal) => Promise<T>,
  ): Promise<readonly T[]> {
    const { pool } = this.#options;
    // By endpoint: it would find too much again, so it is not asked twice.
    const tooMuch = new Map<Endpoint, RpcFailure>();
    const { answers, failure } = await askEndpoints({
      candidates: () => this.#candidates(head),
      quorum,
      isSettled: () => true,
      ask: async (endpoint, ownSignal) => {
        const known = tooMuch.get(endpoint);
        if (known !== undefined) throw known;
        await pool.capabilitiesOf(endpoint);
        return ask(endpoint, ownSignal).catch((error: unknown) => {
          if (error instanceof TooManyTransfers || error instanceof TooManyLogs) tooMuch.set(endpoint, error);
          throw error;
        });
      },
      readyInMs: (answered) => pool.readyInMs(answered),
      whyNoCandidate: () => pool.whyNoCandidate(),
      signal,
    });
    // A smaller read may be answered, even if another endpoint failed later for another reason.
    const [refusal] = tooMuch.values();
    if (answers.length < quorum) throw refusal ?? failure ?? new RpcFailure('unreachable');
    return answers;
  }

  /** The endpoints that may be asked, those that failed to serve logs last. */
  #candidates(head?: Block): Endpoint[] {
    const now = this.#options.monotonicMs();
    const isResting = (endpoint: Endpoint) => (this.#restingUntilMs.get(endpoint) ?? 0) > now;
    return this.#options.pool
      .candidatesAside(head)
      .toSorted((a, b) => Number(isResting(a)) - Number(isResting(b)));
  }

  #limitsOf(endpoint: Endpoint): Limits {
    const known = this.#limits.get(endpoint);
    if (known !== undefined) return known;
    const limits = {
      blocks: new LogLimit(BLOCKS_FIRST, BLOCKS_MAX),
      addresses: new LogLimit(ADDRESSES_MAX, ADDRESSES_MAX),
    };
    this.#limits.set(endpoint, limits);
    return limits;
  }

  async #readFrom(endpoint: Endpoint, range: LogRange, signal: AbortSignal): Promise<TransferLog[]> {
    const read = new EndpointRead(endpoint, this.#limitsOf(endpoint), signal);
    const blockCount = range.toBlock - range.fromBlock + 1;
    try {
      const logs = await read.range(range);
      this.#restingUntilMs.delete(endpoint);
      this.#blocksPerRead.succeed(blockCount);
      return logs;
    } catch (error) {
      if (error instanceof TooManyLogs) this.#blocksPerRead.shrink(blockCount);
      const { kind } = toRpcFailure(error);
      if (kind === 'timeout') this.#options.pool.verifyAlive(endpoint);
      if (kind !== 'abandoned') this.#restingUntilMs.set(endpoint, this.#options.monotonicMs() + REST_MS);
      throw error;
    }
  }
}

/** One read of a range at one endpoint. */
class EndpointRead {
  readonly #endpoint: Endpoint;
  readonly #limits: Limits;
  readonly #signal: AbortSignal;
  #callCount = 0;
  /** The logs of the parts that were read. */
  #logs: TransferLog[] = [];

  constructor(endpoint: Endpoint, limits: Limits, signal: AbortSignal) {
    this.#endpoint = endpoint;
    this.#limits = limits;
    this.#signal = signal;
  }

  /** Reads part after part; a refused part is read again, smaller. */
  async range({ fromBlock, toBlock, contracts }: LogRange): Promise<TransferLog[]> {
    const { blocks } = this.#limits;
    for (let at = fromBlock; at <= toBlock; ) {
      const count = Math.min(blocks.current, toBlock - at + 1);
      const part = { fromBlock: at, toBlock: at + count - 1, contracts };
      try {
        const logs = count === 1 ? await this.#block(part) : await this.#chunks(part);
        this.#logs = this.#logs.concat(logs);
        if (this.#logs.length > LOGS_MAX) throw new TooManyLogs(this.#logs);
        blocks.succeed(count);
        at += count;
      } catch (error) {
        const { kind } = toRpcFailure(error);
        if (count > 1 && (kind === 'timeout' || TOO_MUCH.has(kind))) blocks.shrink(count);
        // A timeout has cost its time already: the next read is a smaller one.
        if (count === 1 || !TOO_MUCH.has(kind)) throw error;
      }
    }
    return this.#logs;
  }

  /** Reads one block; if that is too much, fewer contracts at a time. */
  async #block(part: LogRange): Promise<TransferLog[]> {
    try {
      return await this.#chunks(part);
    } catch (error) {
      if (!TOO_MUCH.has(toRpcFailure(error).kind)) throw error;
      const { contracts } = part;
      const [first = ''] = contracts;
      if (contracts.length === 1) throw new TooManyTransfers(first);
      const half = contracts.length >> 1;
      return [
        ...(await this.#block({ ...part, contracts: contracts.slice(0, half) })),
        ...(await this.#block({ ...part, contracts: contracts.slice(half) })),
      ];
    }
  }

  /** Reads a range in calls with as many addresses as the endpoint allows. */
  async #chunks(part: LogRange): Promise<TransferLog[]> {
    const { addresses } = this.#limits;
    let logs: TransferLog[] = [];
    for (let at = 0; at < part.contracts.length; ) {
      const contracts = part.contracts.slice(at, at + addresses.current);
      try {
        logs = logs.concat(await this.#call({ ...part, contracts }));
        addresses.succeed(contracts.length);
        at += contracts.length;
      } catch (error) {
        if (toRpcFailure(error).kind !== 'too-many-addresses' || contracts.length === 1) throw error;
        addresses.shrink(contracts.length);
      }
    }
    return logs;
  }

  async #call(range: LogRange): Promise<TransferLog[]> {
    this.#callCount += 1;
    if (this.#callCount > CALLS_MAX) throw new TooManyLogs(this.#logs);
    const filter = {
      fromBlock: `0x${range.fromBlock.toString(16)}`,
      toBlock: `0x${range.toBlock.toString(16)}`,
      address: range.contracts,
      topics: [TRANSFER_TOPICS],
    };
    const request = { method: 'eth_getLogs', params: JSON.stringify([filter]) };
    return this.#endpoint.useAside(this.#signal, async (rpc) =>
      parseTransferLogs(await rpc.call(request, this.#signal), range),
    );
  }
}

function busiestOf(logs: readonly TransferLog[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { contract } of logs) counts.set(contract, (counts.get(contract) ?? 0) + 1);
  const [busiest] = [...counts].toSorted(([, a], [, b]) => b - a);
  return busiest?.[0];
}
