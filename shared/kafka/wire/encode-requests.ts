import type { IHeaders, Message } from 'kafkajs';
import { crc32c, Encoder, writeInt64 } from './primitives.ts';

/** What kafkajs's broker passes on: a consumer has no replica id. */
export type FetchData = {
  readonly replicaId?: number | undefined;
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

const FETCH_BYTES = 2_047;
const NO_SESSION = { id: 0, epoch: -1 } as const;
const UNKNOWN = -1;
const A_CONSUMER = -1;

/** Encodes the body of a fetch request, version 11, without a session. */
export function encodeFetch(data: FetchData): Encoder {
  const out = new Encoder(FETCH_BYTES);
  out
    .writeInt32(data.replicaId ?? A_CONSUMER)
    .writeInt32(data.maxWaitTime)
    .writeInt32(data.minBytes)
    .writeInt32(data.maxBytes)
    .writeInt8(data.isolationLevel)
    .writeInt32(NO_SESSION.id)
    .writeInt32(NO_SESSION.epoch)
    .writeInt32(data.topics.length);
  for (const { topic, partitions } of data.topics) {
    out.writeString(topic).writeInt32(partitions.length);
    for (const { partition, fetchOffset, maxBytes } of partitions) {
      const leaderEpoch = UNKNOWN;
      const logStartOffset = UNKNOWN;
      out.writeInt32(partition).writeInt32(leaderEpoch);
      writeInt64(out, Number(fetchOffset));
      writeInt64(out, logStartOffset);
      out.writeInt32(maxBytes);
    }
  }
  const forgottenTopicCount = 0;
  return out.writeInt32(forgottenTopicCount).writeString(data.rackId);
}

type PartitionMessages = {
  readonly partition: number;
  readonly firstSequence: number;
  readonly messages: readonly Message[];
};
export type ProduceData = {
  readonly acks: number;
  readonly timeout: number;
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly compression?: number;
  readonly transactionalId?: string | null;
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly PartitionMessages[];
  }[];
};

const PRODUCE_BYTES = 4_095;
const RECORD_BATCH_MAGIC = 2;
/** No transaction, no compression, and the producer's timestamps. */
const PLAIN = 0;

/**
 * Encodes the body of a produce request, version 3 to 7, without transaction, compression and own
 * timestamps.
 *
 * @param nowMs the timestamp of every record, epoch ms
 */
export function encodeProduce(data: ProduceData, nowMs: number): Encoder {
  const out = new Encoder(PRODUCE_BYTES);
  out.writeString(null).writeInt16(data.acks).writeInt32(data.timeout).writeInt32(data.topicData.length);
  for (const { topic, partitions } of data.topicData) {
    out.writeString(topic).writeInt32(partitions.length);
    for (const each of partitions) {
      out.writeInt32(each.partition);
      writeSized(out, () => {
        const baseOffset = 0;
        writeInt64(out, baseOffset);
        writeSized(out, () => writeRecordBatch(out, data, each, nowMs));
      });
    }
  }
  return out;
}

/** Writes something, and the number of its bytes before it. */
function writeSized(out: Encoder, write: () => void): void {
  const at = out.offset;
  out.writeInt32(0);
  write();
  out.buf.writeInt32BE(out.offset - at - 4, at);
}

/** From the leader's epoch on. */
function writeRecordBatch(
  out: Encoder,
  { producerId, producerEpoch }: ProduceData,
  { firstSequence, messages }: PartitionMessages,
  nowMs: number,
): void {
  out.writeInt32(0).writeInt8(RECORD_BATCH_MAGIC);
  const crcAt = out.offset;
  out.writeInt32(0);
  out.writeInt16(PLAIN).writeInt32(messages.length - 1);
  writeInt64(out, nowMs);
  writeInt64(out, nowMs);
  writeInt64(out, producerId);
  out.writeInt16(producerEpoch).writeInt32(firstSequence).writeInt32(messages.length);
  for (const [offsetDelta, message] of messages.entries()) writeRecord(out, message, offsetDelta);
  out.buf.writeUInt32BE(crc32c(out.buf.subarray(crcAt + 4, out.offset)), crcAt);
}

function writeRecord(out: Encoder, { key, value, headers = {} }: Message, offsetDelta: number): void {
  const named = listHeaders(headers);
  // One byte of attributes and one for the difference to the batch's timestamp, which is 0.
  let length =
    2 +
    Encoder.sizeOfVarInt(offsetDelta) +
    Encoder.sizeOfVarInt(named.length) +
    Encoder.sizeOfVarIntBytes(key) +
    Encoder.sizeOfVarIntBytes(value);
  for (const [name, text] of named)
    length += Encoder.sizeOfVarIntBytes(name) + Encoder.sizeOfVarIntBytes(text);
  out.writeVarInt(length).writeInt8(0).writeVarInt(0).writeVarInt(offsetDelta);
  out.writeVarIntBytes(key).writeVarIntBytes(value).writeVarInt(named.length);
  for (const [name, text] of named) out.writeVarIntBytes(name).writeVarIntBytes(text);
}

/** A header with several values is written once for each. */
const listHeaders = (headers: IHeaders) =>
  Object.entries(headers).flatMap(([name, value]) => [value].flat().map((each) => [name, each] as const));
