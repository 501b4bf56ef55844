import { LRUCache } from 'lru-cache';
import { DAY_MS } from '#shared/contracts/durations.ts';
import type { BlockTag } from '#shared/contracts/rules/rule.ts';
import {
  type ChainObservations,
  type FailedReading,
  failed,
  type Observation,
  type Read,
  type Reading,
  type ReadLane,
} from '../domain/read.ts';
import { type Entry, type IsolatedReadBudget, observationOf } from './batching/entry.ts';
import type { ReadQueue } from './batching/read-queue.ts';
import type { WaitingChecks } from './batching/waiting-checks.ts';
import type { Block } from './blocks/block.ts';
import type { BlockAtInstant } from './blocks/common-instant.ts';
import type { Head, Heads } from './blocks/heads.ts';
import type { NearBlocks } from './blocks/near-blocks.ts';
import type { GoneBlock, PastBlocks } from './blocks/past-blocks.ts';
import { toRpcFailure } from './rpc/rpc-failure.ts';

/** A token does not change its decimals. Two equal answers at least a minute apart are believed for
 * this time. */
const DECIMALS_TTL_MS = DAY_MS;
/** An answer that was given once: an endpoint that gave a false one is asked again soon after. */
const DECIMALS_UNCONFIRMED_TTL_MS = 60_000;
const DECIMALS_MAX = 50_000;
type KnownDecimals = {
  readonly observation: Observation;
  readonly value: bigint;
  /** Whether the state that they were read from was identified. */
  readonly hasState: boolean;
  readonly untilMs: number;
};
/** Stands where the observation of an open read will be. */
const UNREAD: Observation = [];
/** Blocks that a check may try: a reorg may replace one, and a node behind an endpoint's URL answer
 * from another. */
const BLOCKS_MAX = 3;

/** Who asks for reads, and until when. */
export type ReadContext = {
  readonly lane: ReadLane;
  readonly accountId: string;
  readonly clientId: string;
  /** The span that the reads belong to. */
  readonly traceparent: string;
  /** Whether the check has waited for long already: then it does not wait for a chain that does not
   * answer. */
  readonly isLate?: boolean;
  /** Called, possibly several times, when a chain makes the check wait. */
  readonly onWait: () => void;
  /** Aborted when the check must end with the readings it has. */
  readonly signal: AbortSignal;
};

export type ChainReadContext = ReadContext & {
  readonly blockTag: BlockTag;
  readonly minBlock: number;
  /** Exactly this block is read, whatever the tag. */
  readonly atBlock?: number | undefined;
  /** The block that fits those of other chains, for a check that adds amounts of several. */
  readonly blockAtInstant?: BlockAtInstant | undefined;
  readonly isolatedReads: IsolatedReadBudget;
  /** The endpoints that are asked only if there are too few others. */
  readonly avoid?: readonly string[] | undefined;
};

type ChainReaderOptions = {
  readonly heads: Pick<Heads, 'read'>;
  readonly pastBlocks: Pick<PastBlocks, 'read'>;
  readonly nearBlocks: Pick<NearBlocks, 'find' | 'findUntil'>;
  readonly queue: ReadQueue;
  readonly quorum: number;
  /** Reduces the answers of several endpoints to one read to one reading. */
  readonly agreed: (observation: Observation) => Reading;
  /** Whether a reading is a fact about the chain, not a failure of the endpoint. */
  readonly isAnswer: (reading: Reading) => boolean;
  /** The checks that wait for this chain. */
  readonly waitingChecks: WaitingChecks;
  /** Whether no endpoint has answered for a moment: then checks wait. */
  readonly isQuiet: () => boolean;
  /** Whether no endpoint answers: then the bounds of the waiting checks apply. */
  readonly isSilent: () => boolean;
  readonly onSaved: (reason: 'decimals') => void;
  readonly onRead: (durationMs: number) => void;
  readonly monotonicMs: () => number;
};

/** Performs the reads of one check on one chain, all at one block. Never throws: observations hold
 * the failures. */
export type ReadChain = (reads: readonly Read[], context: ChainReadContext) => Promise<ChainObservations>;

export function makeChainReader(options: ChainReaderOptions): ReadChain {
  const { heads, queue, quorum, waitingChecks } = options;
  const decimals = new LRUCache<string, KnownDecimals>({ max: DECIMALS_MAX });
  const findDecimals = ({ key }: Read): KnownDecimals | undefined => {
    const known = decimals.get(key);
    return known && options.monotonicMs() < known.untilMs ? known : undefined;
  };
  const rememberDecimals = ({ read: { key }, hasState }: Entry, observation: Observation): void => {
    const reading = options.agreed(observation);
    if (!reading.ok) return;
    const [known, nowMs] = [decimals.get(key), options.monotonicMs()];
    // The same observation comes from the memory of the block, and is not a second answer.
    if (known && (nowMs < known.untilMs || known.observation === observation)) return;
    const ttlMs = known?.value === reading.value ? DECIMALS_TTL_MS : DECIMALS_UNCONFIRMED_TTL_MS;
    decimals.set(key, { observation, value: reading.value, hasState, untilMs: nowMs + ttlMs });
  };

  /** Returns the observations, or the block that could not be read at, for example because a reorg
   * has replaced it. */
  async function readAtOneBlock(
    reads: readonly Read[],
    context: ChainReadContext,
    gone: readonly GoneBlock[],
  ) {
    const { blockTag: tag, signal, atBlock, avoid = [] } = context;
    const head =
      atBlock === undefined
        ? await heads.read({ ...context, tag, startedMs: options.monotonicMs(), gone })
        : undefined;
    const fitting = head && (await blockAtInstant(head, context, gone));
    const block =
      fitting ?? head ?? (await options.pastBlocks.read({ ...context, number: atBlock ?? 0, gone }));
    const observations: Observation[] = [];
    let hasState = true;
    const open = reads.filter((read, index) => {
      // At another block a contract may have had other decimals, and so it may at another endpoint.
      const isKnown = read.kind === 'decimals' && atBlock === undefined && avoid.length === 0;
      const known = isKnown ? findDecimals(read) : undefined;
      observations[index] = known?.observation ?? UNREAD;
      if (known === undefined) return true;
      hasState &&= known.hasState;
      options.onSaved('decimals');
      return false;
    });
    const entries = await queue.read(block, open, { ...context, avoid, isPast: atBlock !== undefined });
    const isMissing = entries.some((entry) => hasFailedBy(entry, 'block-unavailable'));
    // The state of a block that the check named is waited for until the deadline, if it can still
    // come.
    const isLast = gone.length + 1 >= BLOCKS_MAX && !(isMissing && atBlock !== undefined);
    const isGone = isMissing || entries.some((entry) => hasFailedBy(entry, 'block-mismatch'));
    if (!isLast && !signal.aborted && isGone) return { gone: { ...block, isMissing } };
    let isAnswered = false;
    let proved = true;
    const answeredBy = new Set<string>();
    let index = -1;
    for (const entry of entries) {
      const observation = observationOf(entry);
      index = observations.indexOf(UNREAD, index + 1);
      observations[index] = observation;
      if (entry.read.kind === 'decimals' && atBlock === undefined) rememberDecimals(entry, observation);
      // Only answered calls prove the block: a failed call read nothing.
      if (!observation.every(options.isAnswer)) continue;
      isAnswered = true;
      // The watcher alone asks who answered.
      if (context.lane === 'batch') for (const name of entry.answeredBy) answeredBy.add(name);
      proved &&= entry.isProved;
      hasState &&= entry.hasState;
    }
    const { number, hash, timestamp } = block;
    const state = proved && hasState ? { state: true as const } : {};
    const report = isAnswered ? { block: { number, hash, timestamp, proved, ...state } } : {};
    const asked = head && isAnswered ? { headAskedAtMs: head.askedAtMs } : {};
    const behind = context.blockAtInstant && fitting === undefined ? { isBehind: true as const } : {};
    const from = answeredBy.size > 0 ? { answeredBy: [...answeredBy] } : {};
    return { observed: { quorum, observations, ...report, ...asked, ...behind, ...from } };
  }

  /** The block at the common instant, or the minimum block if that is later; nothing if the chain
   * has none. */
  async function blockAtInstant(
    head: Head,
    { blockAtInstant: place, minBlock, signal }: ChainReadContext,
    gone: readonly GoneBlock[],
  ): Promise<Block | undefined> {
    const request = { head, gone, signal };
    const block = await place?.(head, (seconds) => options.nearBlocks.findUntil(seconds, request));
    return block !== undefined && block.number < minBlock
      ? options.nearBlocks.find(minBlock, request)
      : block;
  }

  async function readAtSomeBlock(
    reads: readonly Read[],
    context: ChainReadContext,
  ): Promise<ChainObservations> {
    for (const gone: GoneBlock[] = []; ; ) {
      const read = await readAtOneBlock(reads, context, gone);
      if (read.observed !== undefined) return read.observed;
      gone.push(read.gone);
    }
  }

  return async function readChain(reads, context) {
    const startedMs = options.monotonicMs();
    const allFailed = (reading: FailedReading): ChainObservations => {
      const observation = [reading];
      return { quorum, observations: reads.map(() => observation) };
    };
    if (options.isQuiet()) {
      context.onWait();
      const mayWait = !context.isLate && waitingChecks.hasRoomFor(context);
      if (options.isSilent() && !mayWait) return allFailed(failed('rpc-timeout'));
    }
    const evicted = Promise.withResolvers<ChainObservations>();
    const { accountId, clientId, onWait } = context;
    const evict = () => evicted.resolve(allFailed(failed('rpc-timeout')));
    return waitingChecks
      .during({ owner: { accountId, clientId }, onWait, evict }, () =>
        Promise.race([readAtSomeBlock(reads, context), evicted.promise]),
      )
      .catch((error) => allFailed(toRpcFailure(error).reading))
      .finally(() => options.onRead(options.monotonicMs() - startedMs));
  };
}

/** A replaced block is unavailable by its hash; by its number another block answers. */
const hasFailedBy = (entry: Entry, code: 'block-unavailable' | 'block-mismatch'): boolean =>
  entry.observation?.every((reading) => !reading.ok && reading.code === code) ?? false;
