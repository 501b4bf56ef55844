import { createHash } from 'node:crypto';
import { type ICustomPartitioner, type Message, Partitioners, type PartitionMetadata } from 'kafkajs';

/** For whom a record is worked, and how many partitions of a lane that client's records may go to. */
export type Fairness = { readonly clientId: string; readonly partitionShare: number };

/** A message of a lane. kafkajs hands the partitioner the very object, so this needs not travel as headers. */
export type FairMessage = Message & { readonly fairness?: Fairness; readonly range?: PartitionRange };

/** The partitions that a record's key chooses from. */
export type PartitionRange = { readonly first: number; readonly count: number };

/**
 * The partitions a client's records go to: always the same `share` of `partitionCount`.
 *
 * Shuffle sharding: two clients rarely share all of theirs, so one client's backlog leaves the others a way.
 */
export function shardOf(clientId: string, share: number, partitionCount: number): number[] {
  const partitions = Array.from({ length: partitionCount }, (_, index) => index);
  const seed = createHash('sha256').update(clientId).digest();
  const count = Math.min(share, partitionCount);
  for (let i = 0; i < count; i++) {
    const j = i + (seed.readUInt16BE((i * 2) % seed.length) % (partitionCount - i));
    const [a, b] = [partitions[i] ?? i, partitions[j] ?? j];
    partitions[i] = b;
    partitions[j] = a;
  }
  return partitions.slice(0, count);
}

/** Records of a client that go to one partition before the next choice: a batch for few partitions is cheap. */
const STICK_COUNT = 16;
const SHARDS_CACHED_MAX = 10_000;

/** A client's share of a topic, under the topic's metadata as it was last seen. */
type Share = {
  readonly metadata: PartitionMetadata[];
  readonly partitions: readonly number[];
  current: number;
  leftCount: number;
};

/**
 * Sends a client's records to the least loaded partition of its shard, and all other records by their key: to any
 * partition of the topic or of the range that is given.
 */
export class FairPartitioner {
  readonly #lag = new Map<string, number[]>();
  readonly #shares = new Map<string, Share>();
  readonly #byKey = Partitioners.DefaultPartitioner();

  /** Takes a fresh sample of a topic's lag, by partition. What this process sends is added until the next one. */
  observeLag(topic: string, lagByPartition: readonly number[]): void {
    this.#lag.set(topic, [...lagByPartition]);
  }

  readonly create: ICustomPartitioner = () => (args) => {
    const { fairness, range } = args.message as FairMessage;
    if (range !== undefined) {
      const { first, count } = range;
      const among = args.partitionMetadata.slice(0, count);
      return first + this.#byKey({ ...args, partitionMetadata: among });
    }
    if (fairness === undefined) return this.#byKey(args);
    const share = this.#shareOf(args.topic, fairness, args.partitionMetadata);
    if (share.leftCount === 0) {
      share.current = this.#leastLoaded(args.topic, share.partitions);
      share.leftCount = STICK_COUNT;
    }
    share.leftCount--;
    return share.current;
  };

  #shareOf(topic: string, { clientId, partitionShare }: Fairness, metadata: PartitionMetadata[]): Share {
    const place = `${topic}/${clientId}`;
    const known = this.#shares.get(place);
    if (known?.metadata === metadata) return known;
    const shard = shardOf(clientId, partitionShare, metadata.length);
    // kafkajs drops a record for a partition without a leader silently, so such a one is never chosen.
    const led = shard.filter((partition) =>
      metadata.some((m) => m.partitionId === partition && m.leader >= 0),
    );
    const share = { metadata, partitions: led.length > 0 ? led : shard, current: 0, leftCount: 0 };
    if (this.#shares.size >= SHARDS_CACHED_MAX) this.#shares.clear();
    this.#shares.set(place, share);
    return share;
  }

  #leastLoaded(topic: string, partitions: readonly number[]): number {
    const lag = this.#lag.get(topic) ?? [];
    this.#lag.set(topic, lag);
    let best = partitions[0] ?? 0;
    for (const partition of partitions) if ((lag[partition] ?? 0) < (lag[best] ?? 0)) best = partition;
    lag[best] = (lag[best] ?? 0) + STICK_COUNT;
    return best;
  }
}
