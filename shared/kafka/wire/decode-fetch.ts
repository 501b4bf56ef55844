import type { KafkaMessage } from 'kafkajs';
import { locateUnreadable } from './codecs.ts';

export type FetchResponse = Awaited<ReturnType<typeof decodeFetch>>;
/** A partition of a fetch response, as kafkajs's consumer takes it. */
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
  const reader = new ByteReader(payload);
  const clientSideThrottleTime = reader.int32();
  const errorCode = reader.int16();
  const sessionId = reader.int32();
  const responses: { topicName: string; partitions: FetchedPartition[] }[] = [];
  for (let topicCount = reader.int32(); topicCount > 0; topicCount--) {
    const topicName = reader.string();
    const partitions: FetchedPartition[] = [];
    for (let count = reader.int32(); count > 0; count--) {
      const partition = readPartitionHead(reader);
      const sizeAt = reader.at;
      const size = Math.max(0, reader.int32());
      reader.at += size;
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

function readPartitionHead(reader: ByteReader) {
  const partition = reader.int32();
  const errorCode = reader.int16();
  const highWatermark = String(reader.int64());
  // The last stable offset and the start of the log.
  reader.at += 16;
  const abortedTransactions: { producerId: string; firstOffset: string }[] = [];
  for (let count = reader.int32(); count > 0; count--)
    abortedTransactions.push({ producerId: String(reader.int64()), firstOffset: String(reader.int64()) });
  return { partition, errorCode, highWatermark, abortedTransactions, preferredReadReplica: reader.int32() };
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
    const reader = new ByteReader(bytes, at);
    const baseOffset = reader.int64();
    const next = reader.int32() + at + BATCH_PREFIX_BYTES;
    const magic = bytes.readInt8(reader.at + MAGIC_AT);
    const attributes = bytes.readInt16BE(reader.at + ATTRIBUTES_AT);
    if (magic !== RECORD_BATCH_MAGIC || (attributes & ~BROKER_TIMESTAMPS) !== 0) return undefined;
    if (next > end) break;
    // Behind the attributes: the last offset's difference, then the timestamps.
    reader.at += ATTRIBUTES_AT + 6;
    const firstTimestamp = reader.int64();
    const maxTimestamp = reader.int64();
    // The producer's id, epoch and sequence.
    reader.at += 14;
    const isByBroker = (attributes & BROKER_TIMESTAMPS) !== 0;
    for (let count = reader.int32(); count > 0; count--)
      messages.push(readRecord(reader, baseOffset, firstTimestamp, isByBroker ? maxTimestamp : undefined));
    at = next;
  }
  return messages;
}

function readRecord(
  reader: ByteReader,
  baseOffset: number,
  firstTimestamp: number,
  brokerTimestamp: number | undefined,
): KafkaMessage {
  const length = reader.varint();
  const end = reader.at + length;
  const attributes = reader.int8();
  const timestamp = firstTimestamp + reader.varint();
  const offset = baseOffset + reader.varint();
  const key = reader.varBytes();
  const value = reader.varBytes();
  // Without a prototype, `__proto__` and `toString` are names like others.
  const headers: Record<string, Buffer | Buffer[]> = Object.create(null);
  for (let count = reader.varint(); count > 0; count--)
    addHeader(headers, reader.varString(), reader.varBytes());
  reader.at = end;
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

const TWO_TO_32 = 2 ** 32;

/** Reads the primitive types of Kafka's protocol. Reading past the end throws a RangeError. */
class ByteReader {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  /** Moves past some bytes. Returns where they begin. */
  #pass(count: number): number {
    this.at += count;
    return this.at - count;
  }

  int8(): number {
    return this.bytes.readInt8(this.#pass(1));
  }

  int16(): number {
    return this.bytes.readInt16BE(this.#pass(2));
  }

  int32(): number {
    return this.bytes.readInt32BE(this.#pass(4));
  }

  /** Offsets and times: exact up to 2^53. */
  int64(): number {
    const high = this.int32();
    return high * TWO_TO_32 + this.bytes.readUInt32BE(this.#pass(4));
  }

  /** A text with its length in 16 bits. */
  string(): string {
    return this.#text(this.int16());
  }

  /** A zigzag varint, of 64 bits at most and exact up to 2^53. */
  varint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.bytes.readUInt8(this.at++);
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      scale *= 128;
    }
  }

  /** Bytes with their length as a varint, as a view; null if they are absent. */
  varBytes(): Buffer | null {
    const length = this.varint();
    if (length < 0) return null;
    const from = this.#pass(length);
    if (this.at > this.bytes.length) throw new RangeError('the bytes end before the value does');
    return this.bytes.subarray(from, this.at);
  }

  /** A text with its length as a varint. */
  varString(): string {
    return this.#text(this.varint());
  }

  #text(length: number): string {
    return this.bytes.toString('utf8', this.#pass(length), this.at);
  }
}
