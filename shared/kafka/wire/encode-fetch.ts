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

/** Encodes the body of a fetch request, version 11, without a session. */
export function encodeFetch(data: FetchData): ByteWriter {
  const out = new ByteWriter(INITIAL_BYTES);
  out.int32(data.replicaId).int32(data.maxWaitTime).int32(data.minBytes).int32(data.maxBytes);
  out.int8(data.isolationLevel).int32(NO_SESSION.id).int32(NO_SESSION.epoch);
  out.int32(data.topics.length);
  for (const { topic, partitions } of data.topics) {
    out.string(topic).int32(partitions.length);
    for (const { partition, fetchOffset, maxBytes } of partitions) {
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
