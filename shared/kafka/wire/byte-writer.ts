const TWO_TO_32 = 2 ** 32;

/** Bytes of a number as a zigzag varint; -1 takes one. */
export function varintLength(value: number): number {
  let length = 1;
  for (let rest = zigzag(value) >>> 7; rest !== 0; rest >>>= 7) length++;
  return length;
}

const zigzag = (value: number): number => (value << 1) ^ (value >> 31);

/** The length that Kafka writes for absent text or bytes. */
const ABSENT = -1;

/** Bytes of a text or of bytes; -1 if there are none. */
export function byteLengthOf(value: string | Buffer | null | undefined): number {
  if (value === null || value === undefined) return ABSENT;
  return typeof value === 'string' ? Buffer.byteLength(value) : value.length;
}

/**
 * Writes the primitive types of Kafka's protocol into memory that grows. kafkajs takes it for its own encoder: of that
 * it uses `buf`, `buffer` and `size`.
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
