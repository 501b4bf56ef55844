import { ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import { type Block, fetchBlockAside, headerRequest, parseBlockAt } from '../blocks/block.ts';
import { askEndpoints, type Question } from '../endpoints/ask-endpoints.ts';
import type { BlockTime } from '../endpoints/block-time.ts';
import { CallLag, NOT_YET_MS } from '../endpoints/call-lag.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { EndpointPool } from '../endpoints/endpoint-pool.ts';
import { LearnedLimit } from '../endpoints/learned-limit.ts';
import type { RpcOutcome } from '../rpc/connect-rpc.ts';
import { RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { type LogRange, logsRequest, parseTransferLogs, type TransferLog } from './transfer-log.ts';

/** Blocks and addresses of one call. */
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
/** How many times at least a read ends some blocks lower because the endpoint does not have the
 * newest ones yet: more often while that is less than the longest lag. */
const CUTS_MIN = 6;
/** The longest lag of an endpoint's logs that is learned. */
const LAG_MS_MAX = 15_000;

/** One contract has more transfers in one block than any endpoint returns. */
export class TooManyTransfers extends RpcFailure {
  readonly contract: string;

  constructor(contract: string) {
    super('too-many-logs');
    this.contract = contract;
  }
}

/** A read found more logs than it may hold in memory, or took too many calls: to be read again in
 * smaller reads. */
export class TooManyLogs extends RpcFailure {
  /** The contract with the most logs so far; `undefined`: none had any. */
  readonly contract: string | undefined;

  constructor(logs: readonly TransferLog[]) {
    super('too-many-logs');
    this.contract = busiestOf(logs)?.contract;
  }
}

type LogReaderOptions = {
  readonly pool: Question<Block>['pool'] & Pick<EndpointPool, 'candidates' | 'doubt' | 'ageMs'>;
  readonly quorum: number;
  readonly blockTime: Pick<BlockTime, 'blocksIn' | 'ms'>;
};

/** The facts that were learned of an endpoint. */
type Learned = {
  readonly blocks: LearnedLimit;
  readonly addresses: LearnedLimit;
  /** How long after a block was seen its logs are there. */
  readonly lag: CallLag;
};

/** The logs of a range, as far as the endpoints have its blocks. */
export type LogsRead = {
  readonly logs: readonly TransferLog[];
  /** The header of the last block that was read. */
  readonly last: Block;
};

/** Reads the transfers of many contracts from the endpoints of one chain, within the limits that it
 * learns of each. */
export class LogReader {
  readonly #options: LogReaderOptions;
  readonly #learned = new WeakMap<Endpoint, Learned>();
  readonly #restingUntilMs = new WeakMap<Endpoint, number>();
  readonly #blocksPerRead = new LearnedLimit(READ_BLOCKS_MAX);

  constructor(options: LogReaderOptions) {
    this.#options = options;
  }

  /** The largest range to ask for in one read. */
  get blocksMax(): number {
    return Math.min(CALLS_PER_READ * this.blocksPerCall, this.#blocksPerRead.current);
  }

  /** The blocks that one call of each endpoint may ask for that is asked. */
  get blocksPerCall(): number {
    const asked = this.#candidates().slice(0, this.#options.quorum);
    return Math.min(BLOCKS_MAX, ...asked.map((endpoint) => this.#learnedOf(endpoint).blocks.current));
  }

  /**
   * Reads the transfers of a range from as many endpoints as the quorum requires, and returns the
   * union: an event that one endpoint reports only causes a check, while an event that one of them
   * withholds would be missed.
   *
   * An endpoint's answer counts up to the last block that it has shown to have, in the same
   * JSON-RPC array.
   *
   * @param head the newest block: an answer with another block at its height is refused
   * @throws RpcFailure `block-unavailable` if no endpoint has the first block of the range yet
   */
  async read(range: LogRange, head: Block, signal: AbortSignal): Promise<LogsRead> {
    const answers = await this.#ask(head, this.#options.quorum, signal, (endpoint, ownSignal) =>
      this.#readFrom(endpoint, range, head, ownSignal),
    ).finally(() => {
      // The caller's time is over: a read of fewer blocks may end in it.
      if (signal.aborted) this.#blocksPerRead.refuse(range.toBlock - range.fromBlock + 1);
    });
    const [first, ...others] = answers.toSorted((a, b) => a.last.number - b.last.number);
    if (first === undefined) throw new RpcFailure('unreachable');
    const { last } = first;
    const logs = new Map<string, TransferLog>();
    const hashes = new Map([[last.number, last.hash]]);
    for (const log of [first, ...others].flatMap((answer) => answer.logs)) {
      const { blockNumber, blockHash, position } = log;
      if (blockNumber > last.number) continue;
      if ((hashes.get(blockNumber) ?? blockHash) !== blockHash) throw new RpcFailure('block-mismatch');
      hashes.set(blockNumber, blockHash);
      logs.set(`${blockHash} ${position}`, log);
    }
    return { logs: [...logs.values()], last };
  }

  /** Fetches the header at a number, from one endpoint that has the head. @throws RpcFailure */
  async readHeader(number: number, head: Block, signal: AbortSignal): Promise<Block> {
    const [block] = await this.#ask(head, 1, signal, (endpoint, ownSignal) =>
      fetchBlockAside(endpoint, number, ownSignal),
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
      pool,
      candidates: () => this.#candidates(head),
      isHedged: false,
      quorum,
      ask: async (endpoint, ownSignal) => {
        const known = tooMuch.get(endpoint);
        if (known !== undefined) throw known;
        return ask(endpoint, ownSignal).catch((error: unknown) => {
          if (error instanceof TooManyTransfers || error instanceof TooManyLogs) tooMuch.set(endpoint, error);
          throw error;
        });
      },
      signal,
    });
    // A smaller read may be answered, even if another endpoint failed later for another reason.
    const [refusal] = tooMuch.values();
    if (answers.length < quorum) throw refusal ?? failure ?? new RpcFailure('unreachable');
    return answers;
  }

  /** The endpoints that may be asked: those that have the logs early first, those that failed to
   * serve logs last. */
  #candidates(head?: Block): Endpoint[] {
    const now = performance.now();
    const isResting = (endpoint: Endpoint) => (this.#restingUntilMs.get(endpoint) ?? 0) > now;
    const lagOf = (endpoint: Endpoint) => this.#learnedOf(endpoint).lag.ms;
    return this.#options.pool
      .candidates(head, { isAside: true })
      .toSorted((a, b) => Number(isResting(a)) - Number(isResting(b)) || lagOf(a) - lagOf(b));
  }

  #learnedOf(endpoint: Endpoint): Learned {
    const known = this.#learned.get(endpoint);
    if (known !== undefined) return known;
    const learned: Learned = {
      blocks: new LearnedLimit(BLOCKS_MAX),
      addresses: new LearnedLimit(ADDRESSES_MAX),
      lag: new CallLag(LAG_MS_MAX),
    };
    this.#learned.set(endpoint, learned);
    return learned;
  }

  async #readFrom(endpoint: Endpoint, range: LogRange, head: Block, signal: AbortSignal): Promise<LogsRead> {
    const { pool, blockTime } = this.#options;
    const read = new EndpointRead({
      ...{ endpoint, learned: this.#learnedOf(endpoint), head, signal },
      newestFrom: head.number + 1 - blockTime.blocksIn(NOT_YET_MS),
      blockTimeMs: blockTime.ms,
      ageMsOf: (number) => pool.ageMs(head) + (head.number - number) * blockTime.ms,
    });
    const blockCount = range.toBlock - range.fromBlock + 1;
    try {
      const answer = await read.range(range);
      this.#restingUntilMs.delete(endpoint);
      this.#blocksPerRead.succeed(blockCount);
      return answer;
    } catch (error) {
      if (error instanceof TooManyLogs) this.#blocksPerRead.refuse(blockCount);
      const { kind } = toRpcFailure(error);
      if (kind === 'timeout') this.#options.pool.doubt(endpoint, 'call');
      if (kind !== 'abandoned' && kind !== 'block-unavailable')
        this.#restingUntilMs.set(endpoint, performance.now() + REST_MS);
      throw error;
    }
  }
}

type ReadOf = {
  readonly endpoint: Endpoint;
  readonly learned: Learned;
  readonly head: Block;
  /** The logs of this block and later ones may not be there yet. */
  readonly newestFrom: number;
  readonly blockTimeMs: number;
  /** How long ago about a block was made. */
  readonly ageMsOf: (number: number) => number;
  readonly signal: AbortSignal;
};

/** One read of a range at one endpoint. */
class EndpointRead {
  readonly #of: ReadOf;
  #callCount = 0;
  /** The last refusal of logs. */
  #refusal: RpcFailure | undefined;
  /** Blocks of the smallest part that was refused. */
  #refusedCount: number | undefined;
  /** The logs of the parts that were read. */
  #logs: TransferLog[] = [];
  #last: Block | undefined;

  constructor(of: ReadOf) {
    this.#of = of;
  }

  /**
   * Reads part after part. A part that is refused, in whatever words, is read again smaller, down
   * to one block. The read ends some blocks lower if the endpoint does not have the newest ones
   * yet, or refuses to return their logs; then the refusals say nothing about the size of a call.
   * It begins as late, and ends as much lower, as the lag that was learned of the endpoint makes
   * one call enough.
   */
  async range(range: LogRange): Promise<LogsRead> {
    const { ageMsOf, blockTimeMs, signal, learned, head } = this.#of;
    const { blocks, lag } = learned;
    const { fromBlock, toBlock } = range;
    const earlyMs = Math.max(0, lag.ms - ageMsOf(toBlock));
    const planned = Math.max(fromBlock, toBlock - Math.floor(earlyMs / blockTimeMs));
    await lag.wait(ageMsOf(planned), signal);
    try {
      const ageMs = ageMsOf(planned);
      const end = await this.#parts(range, planned);
      if (end === planned) lag.ready(ageMs, head.hash);
      else lag.late(ageMs + (planned - end - 1) * blockTimeMs);
      if (end === planned && this.#refusedCount !== undefined) blocks.refuse(this.#refusedCount);
    } catch (error) {
      if (this.#refusedCount !== undefined) blocks.refuse(this.#refusedCount);
      throw error;
    }
    if (this.#last === undefined) throw await this.#whyNothing(fromBlock);
    return { logs: this.#logs, last: this.#last };
  }

  /** An endpoint that refuses the whole array refuses the header with the logs: then the header is
   * asked for alone. */
  async #whyNothing(fromBlock: number): Promise<RpcFailure> {
    const refusal = this.#refusal;
    if (refusal === undefined) return new RpcFailure('block-unavailable');
    return fetchBlockAside(this.#of.endpoint, fromBlock, this.#of.signal).then(
      () => refusal.as('rpc-error'),
      () => new RpcFailure('block-unavailable'),
    );
  }

  /** @returns the last block that was read, or the block before the range */
  async #parts({ fromBlock, contracts }: LogRange, planned: number): Promise<number> {
    const { blocks } = this.#of.learned;
    let countMax = blocks.current;
    let end = planned;
    let isSplit = false;
    for (let at = fromBlock, cuts = 0; at <= end; ) {
      const count = Math.min(countMax, end - at + 1);
      try {
        const { logs, last } = await this.#part({ fromBlock: at, toBlock: at + count - 1, contracts });
        this.#last = last;
        this.#logs = this.#logs.concat(logs);
        if (this.#logs.length > LOGS_MAX) throw new TooManyLogs(this.#logs);
        blocks.succeed(count);
        at += count;
        if (at === this.#of.newestFrom && this.#refusedCount === undefined) countMax = blocks.current;
      } catch (error) {
        const failure = toRpcFailure(error);
        const cutMs = (planned - end) * this.#of.blockTimeMs;
        if (failure.kind === 'block-unavailable' && (cuts < CUTS_MIN || cutMs < LAG_MS_MAX)) {
          end = Math.min(at + count - 2, end - 2 ** cuts);
          cuts += 1;
          continue;
        }
        const last = at + count - 1;
        if (failure.isRefusal && last >= this.#of.newestFrom && !isSplit && at < this.#of.newestFrom) {
          // Perhaps only the newest blocks are missing: they are asked for apart. That teaches no
          // limit, also if both are answered: the refusal may be that of one late node of several
          // behind the URL. A limit shows in the older part.
          isSplit = true;
          countMax = this.#of.newestFrom - at;
          continue;
        }
        if (failure.isRefusal && last >= this.#of.newestFrom && isSplit) {
          end = at - 1;
          continue;
        }
        if (count > 1 && (failure.kind === 'timeout' || failure.isRefusal)) {
          countMax = Math.floor(count / 2);
          this.#refusedCount = count;
        }
        // A timeout has cost its time already: the next read is a smaller one.
        if (count === 1 || !failure.isRefusal) throw error;
      }
    }
    return end;
  }

  async #part(part: LogRange): Promise<LogsRead> {
    return part.fromBlock === part.toBlock ? this.#block(part) : this.#chunks(part);
  }

  /** Reads one block; if that is refused, fewer contracts at a time. */
  async #block(part: LogRange): Promise<LogsRead> {
    try {
      return await this.#chunks(part);
    } catch (error) {
      const failure = toRpcFailure(error);
      if (!failure.isRefusal) throw failure;
      // Whatever the endpoint says about them.
      if (part.toBlock >= this.#of.newestFrom) throw failure.as('block-unavailable');
      const { contracts } = part;
      const [first = ''] = contracts;
      if (contracts.length === 1) {
        if (!(await this.#servesBlock(part))) throw failure;
        // What made the endpoint refuse may have ended between the two calls.
        return this.#chunks(part).catch((again: unknown) => {
          throw toRpcFailure(again).isRefusal ? new TooManyTransfers(first) : again;
        });
      }
      const { addresses, blocks } = this.#of.learned;
      const half = contracts.length >> 1;
      const one = await this.#block({ ...part, contracts: contracts.slice(0, half) });
      // Fewer addresses were answered: then larger ranges may be answered too.
      if (addresses.current >= contracts.length) {
        addresses.refuse(contracts.length);
        blocks.forget();
        this.#refusedCount = undefined;
      }
      const other = await this.#block({ ...part, contracts: contracts.slice(half) });
      return { logs: [...one.logs, ...other.logs], last: one.last };
    }
  }

  /** Whether the endpoint returns logs of a block at all: those of the zero address, which has
   * none. */
  async #servesBlock(part: LogRange): Promise<boolean> {
    return this.#call({ ...part, contracts: [ZERO_ADDRESS] }).then(
      () => true,
      () => false,
    );
  }

  /** Reads a range in calls with as many addresses as the endpoint is known to allow. */
  async #chunks(part: LogRange): Promise<LogsRead> {
    const { addresses } = this.#of.learned;
    let logs: TransferLog[] = [];
    let last: Block | undefined;
    for (let at = 0; at < part.contracts.length; ) {
      const contracts = part.contracts.slice(at, at + addresses.current);
      const answer = await this.#call({ ...part, contracts });
      logs = logs.concat(answer.logs);
      last = answer.last;
      at += contracts.length;
    }
    if (last === undefined) throw new RpcFailure('unreachable');
    return { logs, last };
  }

  /** Asks for the header of the last block in the same array: fewer logs of an endpoint without it
   * are not an answer. */
  async #call(range: LogRange): Promise<LogsRead> {
    this.#callCount += 1;
    if (this.#callCount > CALLS_MAX) throw new TooManyLogs(this.#logs);
    const { fromBlock, toBlock } = range;
    const isHead = fromBlock === toBlock && toBlock === this.#of.head.number;
    const request = logsRequest(range, isHead ? this.#of.head.hash : undefined);
    return this.#of.endpoint.useAside(this.#of.signal, async (rpc) => {
      const [header, logs] = await rpc.callMany([headerRequest(toBlock), request], this.#of.signal);
      if (header === undefined || logs === undefined) throw new RpcFailure('malformed');
      if (!logs.ok && logs.failure.isRefusal) this.#refusal = logs.failure;
      const last = this.#lastOf(header, toBlock);
      // Its words do not count: the endpoint has shown that it has the block, and answers now.
      if (!logs.ok) throw asRefusal(logs.failure);
      return { logs: parseTransferLogs(logs.result, range), last };
    });
  }

  /** @throws RpcFailure `block-unavailable` if the endpoint does not have the block,
   * `block-mismatch` on another fork */
  #lastOf(header: RpcOutcome, number: number): Block {
    if (!header.ok) throw header.failure.ofMissingBlock;
    const block = parseBlockAt(number, header.result);
    if (number === this.#of.head.number && block.hash !== this.#of.head.hash)
      throw new RpcFailure('block-mismatch');
    return block;
  }
}

/** The failure of logs beside an answered header: a refusal of these logs, which delays nothing
 * else, unless it surely is about the rate. */
const asRefusal = (failure: RpcFailure): RpcFailure =>
  failure.kind === 'block-unavailable' || failure.mayBeTooLarge
    ? new RpcFailure('rpc-error', { words: failure.words, isErrorAnswer: true })
    : failure;

/** The contract with the most logs, and their number; `undefined` without logs. */
export function busiestOf(logs: readonly TransferLog[]) {
  const counts = new Map<string, number>();
  for (const { contract } of logs) counts.set(contract, (counts.get(contract) ?? 0) + 1);
  const [busiest] = [...counts].toSorted(([, a], [, b]) => b - a);
  return busiest && { contract: busiest[0], count: busiest[1] };
}
