import { createHash } from 'node:crypto';
import { type ICustomPartitioner, type Message, Partitioners, type PartitionMetadata } from 'kafkajs';

/** Names the client app for whom a record is worked; set on the lanes only. */
export const CLIENT_HEADER = 'rolecall-client';
/** How many partitions of a lane that client's records may go to. */
export const SHARE_HEADER = 'rolecall-share';

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

/** Sends a client's records to the least loaded partition of its shard, and all other records by their key. */
export class FairPartitioner {
  readonly #lag = new Map<string, number>();
  readonly #shards = new Map<string, number[]>();
  readonly #byKey = Partitioners.DefaultPartitioner();

  /** Takes a fresh sample of a topic's lag, by partition. What this process sends is added until the next one. */
  observeLag(topic: string, lagByPartition: readonly number[]): void {
    for (const [partition, lag] of lagByPartition.entries()) this.#lag.set(`${topic}/${partition}`, lag);
  }

  readonly create: ICustomPartitioner = () => (args) => {
    const clientId = headerOf(args.message, CLIENT_HEADER);
    if (clientId === undefined) return this.#byKey(args);
    const share = Number(headerOf(args.message, SHARE_HEADER));
    return this.#leastLoaded(args.topic, this.#shard(clientId, share, args.partitionMetadata));
  };

  #shard(clientId: string, share: number, metadata: PartitionMetadata[]): number[] {
    const known = `${clientId}/${share}/${metadata.length}`;
    const shard = this.#shards.get(known) ?? shardOf(clientId, share, metadata.length);
    if (this.#shards.size >= SHARDS_CACHED_MAX) this.#shards.clear();
    this.#shards.set(known, shard);
    // kafkajs drops a record for a partition without a leader silently, so such a one is never chosen.
    const led = shard.filter((partition) =>
      metadata.some((m) => m.partitionId === partition && m.leader >= 0),
    );
    return led.length > 0 ? led : shard;
  }

  #leastLoaded(topic: string, shard: readonly number[]): number {
    let best = shard[0] ?? 0;
    let bestLag = Number.POSITIVE_INFINITY;
    for (const partition of shard) {
      const lag = this.#lag.get(`${topic}/${partition}`) ?? 0;
      if (lag < bestLag) [best, bestLag] = [partition, lag];
    }
    this.#lag.set(`${topic}/${best}`, bestLag + 1);
    return best;
  }
}

const SHARDS_CACHED_MAX = 10_000;

const headerOf = (message: Message, name: string): string | undefined => message.headers?.[name]?.toString();
