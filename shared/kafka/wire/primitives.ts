import { createRequire } from 'node:module';

/** The part of kafkajs's encoder that is used. */
export type Encoder = {
  readonly buf: Buffer;
  /** The end of what is written. */
  readonly offset: number;
  readonly buffer: Buffer;
  readonly writeInt8: (value: number) => Encoder;
  readonly writeInt16: (value: number) => Encoder;
  readonly writeInt32: (value: number) => Encoder;
  readonly writeString: (value: string | null) => Encoder;
  readonly writeVarInt: (value: number) => Encoder;
  readonly writeVarIntBytes: (value: Bytes) => Encoder;
};
type EncoderClass = {
  new (initialBytes: number): Encoder;
  readonly sizeOfVarInt: (value: number) => number;
  readonly sizeOfVarIntBytes: (value: Bytes) => number;
};
type Bytes = string | Buffer | null | undefined;

/** The part of kafkajs's decoder that is used. */
export type Decoder = {
  readonly buffer: Buffer;
  offset: number;
  readonly readInt8: () => number;
  readonly readInt16: () => number;
  readonly readInt32: () => number;
  readonly readString: () => string;
  readonly readVarInt: () => number;
  readonly readVarLong: () => { readonly toNumber: () => number };
  /** A view. */
  readonly readVarIntBytes: () => Buffer | null;
  readonly readVarIntString: () => string;
};

const load = createRequire(import.meta.url);

/** The primitive types of Kafka's protocol, by kafkajs, which does not export them. */
export const Encoder = load('kafkajs/src/protocol/encoder') as EncoderClass;
export const Decoder = load('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => Decoder;

/** The checksum of a record batch: CRC-32C, unsigned. */
export const crc32c = load('kafkajs/src/protocol/recordBatch/crc32C') as (bytes: Buffer) => number;

const TWO_TO_32 = 2 ** 32;

/** Offsets and times, exact up to 2^53: kafkajs's own make several BigInts for each. */
export function writeInt64(out: Encoder, value: number): void {
  const high = Math.floor(value / TWO_TO_32);
  out.writeInt32(high).writeInt32((value - high * TWO_TO_32) | 0);
}

export function readInt64(from: Decoder): number {
  const high = from.readInt32();
  return high * TWO_TO_32 + (from.readInt32() >>> 0);
}
