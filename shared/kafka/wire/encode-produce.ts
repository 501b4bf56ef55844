import type { IHeaders, Message } from 'kafkajs';
import { ByteWriter, byteLengthOf, varintLength } from './byte-writer.ts';
import { crc32c } from './crc32c.ts';

export type PartitionMessages = {
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

const INITIAL_BYTES = 4_096;
const RECORD_BATCH_MAGIC = 2;
/** No transaction, no compression, and the producer's timestamps. */
const PLAIN = 0;

/**
 * Encodes the body of a produce request, version 3 to 7, without transaction, compression and own timestamps.
 *
 * @param nowMs the timestamp of every record, epoch ms
 */
export function encodeProduce(data: ProduceData, nowMs: number): ByteWriter {
  const out = new ByteWriter(INITIAL_BYTES);
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
  out.fill32(crcAt, crc32c(out.buf, checkedFrom, out.size()));
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
