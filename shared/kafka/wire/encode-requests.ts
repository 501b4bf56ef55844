import { createRequire } from 'node:module';
import type { IHeaders, Message } from 'kafkajs';

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

const FETCH_BYTES = 2_048;
const NO_SESSION = { id: 0, epoch: -1 } as const;
const UNKNOWN = -1;

/** Encodes the body of a fetch request, version 11, without a session. */
export function encodeFetch(data: FetchData): ByteWriter {
  const out = new ByteWriter(FETCH_BYTES);
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
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly PartitionMessages[];
  }[];
};

const PRODUCE_BYTES = 4_096;
const RECORD_BATCH_MAGIC = 2;
/** No transaction, no compression, and the producer's timestamps. */
const PLAIN = 0;

/** The checksum of a record batch: CRC-32C, unsigned. */
const crc32c = createRequire(import.meta.url)('kafkajs/src/protocol/recordBatch/crc32C') as (
  bytes: Buffer,
) => number;

/**
 * Encodes the body of a produce request, version 3 to 7, without transaction, compression and own
 * timestamps.
 *
 * @param nowMs the timestamp of every record, epoch ms
 */
export function encodeProduce(data: ProduceData, nowMs: number): ByteWriter {
  const out = new ByteWriter(PRODUCE_BYTES);
  out.string(null).int16(data.acks).int32(data.timeout).int32(data.topicData.length);
  for (const { topic, partitions } of data.topicData) {
    out.string(topic).int32(partitions.length);
    for (const each of partitions) writeRecordBatch(out, data, each, nowMs);
  }
  return out;
}

function writeRecordBatch(
  out: ByteWriter,
  { producerId, producerEpoch }: ProduceData,
  { partition, firstSequence, messages }: PartitionMessages,
  nowMs: number,
): void {
  out.int32(partition);
  const bytesAt = out.skip32();
  out.int64(0);
  const lengthAt = out.skip32();
  out.int32(0).int8(RECORD_BATCH_MAGIC);
  const crcAt = out.skip32();
  const checkedFrom = out.size();
  out.int16(PLAIN).int32(messages.length - 1);
  out.int64(nowMs).int64(nowMs);
  out.int64(producerId).int16(producerEpoch).int32(firstSequence);
  out.int32(messages.length);
  for (const [offsetDelta, message] of messages.entries()) writeRecord(out, message, offsetDelta);
  out.fill32(bytesAt, out.size() - bytesAt - 4);
  out.fill32(lengthAt, out.size() - lengthAt - 4);
  out.fill32(crcAt, crc32c(out.buf.subarray(checkedFrom, out.size())));
}

function writeRecord(out: ByteWriter, { key, value, headers }: Message, offsetDelta: number): void {
  const keyLength = byteLengthOf(key);
  const valueLength = byteLengthOf(value);
  const named = headers === undefined ? [] : listHeaders(headers);
  // One byte of attributes and one for the difference to the batch's timestamp, which is 0.
  let length = 2 + varintLength(offsetDelta) + sizeOf(keyLength) + sizeOf(valueLength);
  length += varintLength(named.length);
  for (const [name, text] of named) length += sizeOf(byteLengthOf(name)) + sizeOf(byteLengthOf(text));
  out.varint(length).int8(0).varint(0).varint(offsetDelta);
  out.varBytes(key, keyLength).varBytes(value, valueLength).varint(named.length);
  for (const [name, text] of named) out.varBytes(name, byteLengthOf(name)).varBytes(text, byteLengthOf(text));
}

/** The bytes of a value with its length before it. */
const sizeOf = (length: number): number => varintLength(length) + Math.max(0, length);

/** A header with several values is written once for each. */
function listHeaders(headers: IHeaders): [string, string | Buffer | undefined][] {
  const named: [string, string | Buffer | undefined][] = [];
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (Array.isArray(value)) for (const each of value) named.push([name, each]);
    else named.push([name, value]);
  }
  return named;
}

const TWO_TO_32 = 2 ** 32;

/** Bytes of a number as a zigzag varint; -1 takes one. */
function varintLength(value: number): number {
  let length = 1;
  for (let rest = zigzag(value) >>> 7; rest !== 0; rest >>>= 7) length++;
  return length;
}

const zigzag = (value: number): number => (value << 1) ^ (value >> 31);

/** The length that Kafka writes for absent text or bytes. */
const ABSENT = -1;

/** Bytes of a text or of bytes; -1 if there are none. */
function byteLengthOf(value: string | Buffer | null | undefined): number {
  if (value === null || value === undefined) return ABSENT;
  return typeof value === 'string' ? Buffer.byteLength(value) : value.length;
}

/**
 * Writes the primitive types of Kafka's protocol into memory that grows. kafkajs takes it for its
 * own encoder: of that it uses `buf`, `buffer` and `size`.
 */
export class ByteWriter {
  buf: Buffer;
  #end = 0;

  constructor(initialBytes: number) {
    this.buf = Buffer.allocUnsafe(initialBytes);
  }

  get buffer(): Buffer {
    return this.buf.subarray(0, this.#end);
  }

  size(): number {
    return this.#end;
  }

  int8(value: number): this {
    this.#reserve(1);
    this.#end = this.buf.writeInt8(value, this.#end);
    return this;
  }

  int16(value: number): this {
    this.#reserve(2);
    this.#end = this.buf.writeInt16BE(value, this.#end);
    return this;
  }

  int32(value: number): this {
    this.#reserve(4);
    this.#end = this.buf.writeInt32BE(value, this.#end);
    return this;
  }

  /** @param value a safe integer */
  int64(value: number): this {
    const high = Math.floor(value / TWO_TO_32);
    return this.int32(high).#uint32(value - high * TWO_TO_32);
  }

  /** A text with its length in 16 bits. */
  string(value: string | null): this {
    const length = byteLengthOf(value);
    this.int16(length);
    return length > 0 ? this.#text(value as string, length) : this;
  }

  varint(value: number): this {
    this.#reserve(5);
    let rest = zigzag(value) >>> 0;
    for (; rest > 0x7f; rest >>>= 7) this.buf[this.#end++] = (rest & 0x7f) | 0x80;
    this.buf[this.#end++] = rest;
    return this;
  }

  /** Text or bytes with their length as a varint. @param length as `byteLengthOf` says */
  varBytes(value: string | Buffer | null | undefined, length: number): this {
    this.varint(length);
    if (length <= 0) return this;
    if (typeof value === 'string') return this.#text(value, length);
    this.#reserve(length);
    this.#end += (value as Buffer).copy(this.buf, this.#end);
    return this;
  }

  /** Leaves space for four bytes, to be filled by `fill32`. Returns its position. */
  skip32(): number {
    this.int32(0);
    return this.#end - 4;
  }

  /** Fills space that was left. @param value unsigned */
  fill32(at: number, value: number): void {
    this.buf.writeUInt32BE(value, at);
  }

  #uint32(value: number): this {
    this.#reserve(4);
    this.#end = this.buf.writeUInt32BE(value, this.#end);
    return this;
  }

  #text(value: string, length: number): this {
    this.#reserve(length);
    // As many bytes as characters: plain ASCII, which Node copies without encoding.
    this.#end += this.buf.write(value, this.#end, length === value.length ? 'latin1' : 'utf8');
    return this;
  }

  #reserve(count: number): void {
    const needed = this.#end + count;
    if (needed <= this.buf.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.buf.length));
    this.buf.copy(larger, 0, 0, this.#end);
    this.buf = larger;
  }
}
