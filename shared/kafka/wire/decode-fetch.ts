import type { KafkaMessage } from 'kafkajs';
import { locateUnreadable } from './codecs.ts';
import { Decoder, readInt64 } from './primitives.ts';

export type FetchResponse = Awaited<ReturnType<typeof decodeFetch>>;
type FetchedPartition = ReturnType<typeof readPartitionHead> & {
  readonly messages: readonly KafkaMessage[];
};

/** Decodes records that this decoder does not know, from the four bytes of their size on. */
type DecodeOther = (sizeAndRecords: Buffer) => Promise<readonly KafkaMessage[]>;

const RECORD_BATCH_MAGIC = 2;
/** The bytes of a record batch before its first record, and those in front of its length. */
const BATCH_HEAD_BYTES = 61;
const BATCH_PREFIX_BYTES = 12;
/** From the leader's epoch to the end of the checksum's field. */
const MAGIC_AT = 4;
const ATTRIBUTES_AT = 9;
const BROKER_TIMESTAMPS = 8;
const NO_REPLICA = -1;

/**
 * Decodes a fetch response, version 11. Partitions without records, error or preferred replica are
 * left out: of the 24 partitions of a topic few have records, and kafkajs makes a batch, a promise
 * and a heartbeat for each partition of the response.
 */
export async function decodeFetch(payload: Buffer, decodeOther: DecodeOther) {
  const reader = new Decoder(payload);
  const clientSideThrottleTime = reader.readInt32();
  const errorCode = reader.readInt16();
  const sessionId = reader.readInt32();
  const responses: { topicName: string; partitions: FetchedPartition[] }[] = [];
  for (let topicCount = reader.readInt32(); topicCount > 0; topicCount--) {
    const topicName = reader.readString();
    const partitions: FetchedPartition[] = [];
    for (let count = reader.readInt32(); count > 0; count--) {
      const partition = readPartitionHead(reader);
      const sizeAt = reader.offset;
      const size = Math.max(0, reader.readInt32());
      reader.offset += size;
      const { abortedTransactions, preferredReadReplica } = partition;
      if (size === 0 && partition.errorCode === 0 && preferredReadReplica === NO_REPLICA) continue;
      const plain =
        abortedTransactions.length === 0 ? readPlainRecords(payload, sizeAt + 4, size) : undefined;
      const locate = (error: unknown) => {
        throw locateUnreadable(error, topicName, partition.partition);
      };
      const messages =
        plain ?? (await decodeOther(payload.subarray(sizeAt, sizeAt + 4 + size)).catch(locate));
      partitions.push({ ...partition, messages });
    }
    responses.push({ topicName, partitions });
  }
  // As in kafkajs: the broker has not throttled, and expects the client to.
  return { throttleTime: 0, clientSideThrottleTime, errorCode, sessionId, responses };
}

function readPartitionHead(reader: Decoder) {
  const partition = reader.readInt32();
  const errorCode = reader.readInt16();
  const highWatermark = String(readInt64(reader));
  // The last stable offset and the start of the log.
  reader.offset += 16;
  const abortedTransactions: { producerId: string; firstOffset: string }[] = [];
  for (let count = reader.readInt32(); count > 0; count--)
    abortedTransactions.push({
      producerId: String(readInt64(reader)),
      firstOffset: String(readInt64(reader)),
    });
  return {
    partition,
    errorCode,
    highWatermark,
    abortedTransactions,
    preferredReadReplica: reader.readInt32(),
  };
}

/**
 * The records of plain batches: not compressed, of no transaction. `undefined` if there is another
 * batch. The last batch may be cut off, because the broker bounds a response by bytes; it is
 * fetched again.
 */
function readPlainRecords(bytes: Buffer, from: number, size: number): KafkaMessage[] | undefined {
  const end = Math.min(from + size, bytes.length);
  const messages: KafkaMessage[] = [];
  for (let at = from; at + BATCH_HEAD_BYTES <= end; ) {
    const reader = new Decoder(bytes);
    reader.offset = at;
    const baseOffset = readInt64(reader);
    const next = reader.readInt32() + at + BATCH_PREFIX_BYTES;
    const magic = bytes.readInt8(reader.offset + MAGIC_AT);
    const attributes = bytes.readInt16BE(reader.offset + ATTRIBUTES_AT);
    if (magic !== RECORD_BATCH_MAGIC || (attributes & ~BROKER_TIMESTAMPS) !== 0) return undefined;
    if (next > end) break;
    // Behind the attributes: the last offset's difference, then the timestamps.
    reader.offset += ATTRIBUTES_AT + 6;
    const firstTimestamp = readInt64(reader);
    const maxTimestamp = readInt64(reader);
    // The producer's id, epoch and sequence.
    reader.offset += 14;
    const isByBroker = (attributes & BROKER_TIMESTAMPS) !== 0;
    for (let count = reader.readInt32(); count > 0; count--)
      messages.push(readRecord(reader, baseOffset, firstTimestamp, isByBroker ? maxTimestamp : undefined));
    at = next;
  }
  return messages;
}

function readRecord(
  reader: Decoder,
  baseOffset: number,
  firstTimestamp: number,
  brokerTimestamp: number | undefined,
): KafkaMessage {
  const length = reader.readVarInt();
  const end = reader.offset + length;
  const attributes = reader.readInt8();
  const timestamp = firstTimestamp + reader.readVarLong().toNumber();
  const offset = baseOffset + reader.readVarInt();
  const key = reader.readVarIntBytes();
  const value = reader.readVarIntBytes();
  // Without a prototype, `__proto__` and `toString` are names like others.
  const headers: Record<string, Buffer | Buffer[]> = Object.create(null);
  for (let count = reader.readVarInt(); count > 0; count--)
    addHeader(headers, reader.readVarIntString(), reader.readVarIntBytes());
  reader.offset = end;
  return {
    attributes,
    timestamp: String(brokerTimestamp ?? timestamp),
    offset: String(offset),
    key,
    value,
    headers,
  };
}

/** Several headers of one name become a list. */
function addHeader(headers: Record<string, Buffer | Buffer[]>, name: string, value: Buffer | null): void {
  const before = headers[name];
  // kafkajs's types know no header without a value, which its decoder returns all the same.
  const own = value as Buffer;
  if (before === undefined) headers[name] = own;
  else headers[name] = Array.isArray(before) ? [...before, own] : [before, own];
}
