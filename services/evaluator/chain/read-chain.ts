import { LRUCache } from 'lru-cache';
import { DAY_MS } from '#shared/contracts/durations.ts';
import type { BlockTag } from '#shared/contracts/rules/rule.ts';
import { agreeOn, isAnswer } from '../domain/agree.ts';
import {
  type ChainObservations,
  type FailedReading,
  failed,
  type Observation,
  type Read,
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
import type { ChainObserver } from './chain-observer.ts';
import type { EndpointPool } from './endpoints/endpoint-pool.ts';
import { toRpcFailure } from './rpc/rpc-failure.ts';

/** A token does not change its decimals: equal answers of two endpoints are believed for this time. */
const DECIMALS_TTL_MS = DAY_MS;
/** Answers of one endpoint alone, whose false answers must not outlive it. */
const DECIMALS_UNCONFIRMED_TTL_MS = 60_000;
const DECIMALS_MAX = 50_000;
type KnownDecimals = {
  readonly observation: Observation;
  readonly value: bigint;
  /** The endpoints that gave this value. */
  readonly endpoints: ReadonlySet<string>;
  /** Whether the state that they were read from was identified. */
  readonly hasState: boolean;
  readonly untilMs: number;
};
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
  /** The checks that wait for this chain. */
  readonly waitingChecks: WaitingChecks;
  /** While it is quiet, checks wait; while it is silent, the bounds of the waiting checks apply. */
  readonly pool: Pick<EndpointPool, 'isQuiet' | 'isSilent'>;
  readonly observer: Pick<ChainObserver, 'onSaved' | 'onRead'>;
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
    if (known === undefined || options.monotonicMs() >= known.untilMs) return undefined;
    options.observer.onSaved('decimals');
    return known;
  };
  const rememberDecimals = ({ read: { key }, source }: Entry, observation: Observation): void => {
    const reading = agreeOn(observation, quorum);
    if (!reading.ok) return;
    const [known, nowMs] = [decimals.get(key), options.monotonicMs()];
    if (known !== undefined && nowMs < known.untilMs) return;
    const { value } = reading;
    const before = known?.value === value ? known.endpoints : [];
    const endpoints = new Set([...before, ...(source?.endpoints ?? [])]);
    const ttlMs = endpoints.size > 1 ? DECIMALS_TTL_MS : DECIMALS_UNCONFIRMED_TTL_MS;
    const hasState = source?.hasState ?? false;
    decimals.set(key, { observation, value, endpoints, hasState, untilMs: nowMs + ttlMs });
  };

  /** The block at the common instant, or the minimum block if that is later; nothing if the chain
   * has none. */
  async function findAtInstant(
    place: BlockAtInstant,
    head: Head,
    { minBlock, signal }: ChainReadContext,
    gone: readonly GoneBlock[],
  ): Promise<Block | undefined> {
    const request = { head, gone, signal };
    const block = await place(head, (seconds) => options.nearBlocks.findUntil(seconds, request));
    return block !== undefined && block.number < minBlock
      ? options.nearBlocks.find(minBlock, request)
      : block;
  }

  /** Reads at one block after another until one can be read at: a reorg may replace one. */
  async function readAtSomeBlock(
    reads: readonly Read[],
    context: ChainReadContext,
  ): Promise<ChainObservations> {
    const { signal, atBlock, avoid = [], blockAtInstant } = context;
    // At another block a contract may have had other decimals, and so it may at another endpoint.
    const mayKnow = atBlock === undefined && avoid.length === 0;
    for (const gone: GoneBlock[] = []; ; ) {
      const head = atBlock === undefined ? await heads.read(context, gone) : undefined;
      const fitting =
        head && blockAtInstant ? await findAtInstant(blockAtInstant, head, context, gone) : undefined;
      const block =
        fitting ?? head ?? (await options.pastBlocks.read({ ...context, number: atBlock ?? 0, gone }));
      const known = reads.map((read) =>
        mayKnow && read.kind === 'decimals' ? findDecimals(read) : undefined,
      );
      const open = reads.filter((_, index) => known[index] === undefined);
      const entries = await queue.read(block, open, context);
      const isMissing = entries.some((entry) => hasFailedBy(entry, 'block-unavailable'));
      // The state of a block that the check named is waited for until the deadline, if it can still
      // come.
      const isLast = gone.length + 1 >= BLOCKS_MAX && !(isMissing && atBlock !== undefined);
      const isGone = isMissing || entries.some((entry) => hasFailedBy(entry, 'block-mismatch'));
      if (isGone && !isLast && !signal.aborted) {
        gone.push({ ...block, isMissing });
        continue;
      }
      const observed = observe(known, entries, block, context);
      const headAskedAtMs = observed.block && head?.askedAtMs;
      return { ...observed, headAskedAtMs, isBehind: blockAtInstant !== undefined && fitting === undefined };
    }
  }

  /** @param known by the place of each read; the others are the entries */
  function observe(
    known: readonly (KnownDecimals | undefined)[],
    entries: readonly Entry[],
    { number, hash, timestamp }: Block,
    { lane, atBlock }: ChainReadContext,
  ): ChainObservations {
    let [isAnswered, proved, hasState] = [false, true, true];
    // The watcher alone asks who answered.
    const answeredBy = lane === 'batch' ? new Set<string>() : undefined;
    let next = 0;
    const observations = known.map((decimals) => {
      hasState &&= decimals?.hasState ?? true;
      if (decimals !== undefined) return decimals.observation;
      const entry = entries[next++] as Entry;
      const observation = observationOf(entry);
      if (entry.read.kind === 'decimals' && atBlock === undefined) rememberDecimals(entry, observation);
      // Only answered calls prove the block: a failed call read nothing.
      if (!observation.some(isAnswer)) return observation;
      const { source } = entry;
      isAnswered = true;
      proved &&= source?.isProved ?? false;
      hasState &&= source?.hasState ?? false;
      if (answeredBy) for (const name of source?.endpoints ?? []) answeredBy.add(name);
      return observation;
    });
    if (!isAnswered) return { quorum, observations };
    const state = proved && hasState ? { state: true as const } : {};
    const block = { number, hash, timestamp, proved, ...state };
    return { quorum, observations, block, answeredBy: answeredBy && [...answeredBy] };
  }

  return async function readChain(reads, context) {
    const startedMs = options.monotonicMs();
    const allFailed = (reading: FailedReading): ChainObservations => {
      const observation = [reading];
      return { quorum, observations: reads.map(() => observation) };
    };
    const { onWait } = context;
    if (options.pool.isQuiet) {
      onWait();
      const mayWait = !context.isLate && waitingChecks.hasRoomFor(context);
      if (options.pool.isSilent && !mayWait) return allFailed(failed('rpc-timeout'));
    }
    // Of two promises that race, each costs two more: most checks are not evicted.
    const { promise, resolve, reject } = Promise.withResolvers<ChainObservations>();
    const waiter = { owner: context, onWait, evict: () => resolve(allFailed(failed('rpc-timeout'))) };
    waitingChecks.add(waiter);
    readAtSomeBlock(reads, context).then(resolve, reject);
    try {
      return await promise;
    } catch (error) {
      return allFailed(toRpcFailure(error).reading);
    } finally {
      waitingChecks.remove(waiter);
      options.observer.onRead(options.monotonicMs() - startedMs);
    }
  };
}

/** A replaced block is unavailable by its hash; by its number another block answers. */
const hasFailedBy = (entry: Entry, code: 'block-unavailable' | 'block-mismatch'): boolean =>
  entry.observation?.every((reading) => !reading.ok && reading.code === code) ?? false;
