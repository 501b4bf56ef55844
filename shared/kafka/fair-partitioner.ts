import { createHash } from 'node:crypto';
import { type ICustomPartitioner, type Message, Partitioners, type PartitionMetadata } from 'kafkajs';

/** The account that a record belongs to, whichever of its apps sent it, and how many partitions of
 * a lane its records may use. */
export type Fairness = { readonly accountId: string; readonly partitionShare: number };

/** A message of a lane. kafkajs passes this object to the partitioner, so its extra members are not
 * sent as headers. */
export type FairMessage = Message & { readonly fairness?: Fairness };

/**
 * The partitions of an account's records: always the same `share` of `partitionCount`.
 *
 * Shuffle sharding: two accounts rarely have the same set, so one's backlog leaves the others a
 * free partition.
 */
export function shardOf(accountId: string, share: number, partitionCount: number): number[] {
  const partitions = Array.from({ length: partitionCount }, (_, index) => index);
  const seed = createHash('sha256').update(accountId).digest();
  const count = Math.min(share, partitionCount);
  for (let i = 0; i < count; i++) {
    const j = i + (seed.readUInt16BE((i * 2) % seed.length) % (partitionCount - i));
    const [a, b] = [partitions[i] ?? i, partitions[j] ?? j];
    partitions[i] = b;
    partitions[j] = a;
  }
  return partitions.slice(0, count);
}

/**
 * Consecutive records of an account go to one partition, because a request to few partitions is
 * cheap: at most this many records, and no further record after this many bytes. So each part of a
 * batch, which is larger, goes to the next partition: 16 of them in one would delay another
 * account's part by seconds.
 */
const STICKY_COUNT = 16;
const STICKY_BYTES = 16 * 1024;
const SHARDS_CACHED_MAX = 10_000;

/** An account's partitions of a topic, valid for one version of the topic's metadata. */
type Share = {
  readonly metadata: PartitionMetadata[];
  readonly partitions: readonly number[];
  current: number;
  leftCount: number;
  leftBytes: number;
};

/**
 * Sends an account's records to the partition of its shard with the least lag, and other records to
 * the partition that they name, or that of their key.
 */
export class FairPartitioner {
  readonly #lag = new Map<string, number[]>();
  readonly #shares = new Map<string, Share>();
  readonly #byKey = Partitioners.DefaultPartitioner();

  /** Sets a topic's lag by partition. Records that this process sends are added until the next
   * sample. */
  observeLag(topic: string, lagByPartition: readonly number[]): void {
    this.#lag.set(topic, [...lagByPartition]);
  }

  readonly create: ICustomPartitioner = () => (args) => {
    const { fairness } = args.message as FairMessage;
    if (fairness === undefined) return this.#byKey(args);
    const share = this.#shareOf(args.topic, fairness, args.partitionMetadata);
    const lag = this.#lagOf(args.topic);
    if (share.leftCount <= 0 || share.leftBytes <= 0) {
      share.current = leastLag(lag, share.partitions);
      share.leftCount = STICKY_COUNT;
      share.leftBytes = STICKY_BYTES;
    }
    share.leftCount -= 1;
    share.leftBytes -= args.message.value?.length ?? 0;
    lag[share.current] = (lag[share.current] ?? 0) + 1;
    return share.current;
  };

  #shareOf(topic: string, { accountId, partitionShare }: Fairness, metadata: PartitionMetadata[]): Share {
    const name = `${topic}/${accountId}`;
    const known = this.#shares.get(name);
    if (known?.metadata === metadata) return known;
    const shard = shardOf(accountId, partitionShare, metadata.length);
    // kafkajs silently drops a record for a partition without a leader: such a partition is never
    // chosen.
    const led = shard.filter((partition) =>
      metadata.some((m) => m.partitionId === partition && m.leader >= 0),
    );
    const partitions = led.length > 0 ? led : shard;
    const share = { metadata, partitions, current: 0, leftCount: 0, leftBytes: 0 };
    if (this.#shares.size >= SHARDS_CACHED_MAX) this.#shares.clear();
    this.#shares.set(name, share);
    return share;
  }

  #lagOf(topic: string): number[] {
    const lag = this.#lag.get(topic) ?? [];
    this.#lag.set(topic, lag);
    return lag;
  }
}

function leastLag(lag: readonly number[], partitions: readonly number[]): number {
  let best = partitions[0] ?? 0;
  for (const partition of partitions) if ((lag[partition] ?? 0) < (lag[best] ?? 0)) best = partition;
  return best;
}
