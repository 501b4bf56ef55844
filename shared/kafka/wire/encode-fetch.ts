import { ByteWriter } from './byte-writer.ts';

export type FetchData = {
  readonly replicaId: number;
  readonly maxWaitTime: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly isolationLevel: number;
  readonly rackId: string;
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly fetchOffset: string;
      readonly maxBytes: number;
    }[];
  }[];
};

const INITIAL_BYTES = 2_048;
const NO_SESSION = { id: 0, epoch: -1 } as const;
const UNKNOWN = -1;

/**
 * Encodes the body of a fetch request, version 11, without a session.
 *
 * A broker answers with a record batch that is larger than a partition's `maxBytes` only for the first partition of a request
 * that has records, so the order must differ from request to request: otherwise the last partitions starve.
 *
 * @param turn the number of the request: where its lists begin
 */
export function encodeFetch(data: FetchData, turn: number): ByteWriter {
  const out = new ByteWriter(INITIAL_BYTES);
  out.int32(data.replicaId).int32(data.maxWaitTime).int32(data.minBytes).int32(data.maxBytes);
  out.int8(data.isolationLevel).int32(NO_SESSION.id).int32(NO_SESSION.epoch);
  out.int32(data.topics.length);
  const partitionTurn = Math.floor(turn / Math.max(1, data.topics.length));
  for (const { topic, partitions } of rotate(data.topics, turn)) {
    out.string(topic).int32(partitions.length);
    for (const { partition, fetchOffset, maxBytes } of rotate(partitions, partitionTurn)) {
      const leaderEpoch = UNKNOWN;
      const logStartOffset = UNKNOWN;
      out
        .int32(partition)
        .int32(leaderEpoch)
        .int64(Number(fetchOffset))
        .int64(logStartOffset)
        .int32(maxBytes);
    }
  }
  const forgottenTopicCount = 0;
  return out.int32(forgottenTopicCount).string(data.rackId);
}

function rotate<T>(list: readonly T[], turn: number): readonly T[] {
  const from = turn % Math.max(1, list.length);
  return from === 0 ? list : [...list.slice(from), ...list.slice(0, from)];
}
