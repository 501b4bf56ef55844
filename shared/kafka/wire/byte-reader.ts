const TWO_TO_32 = 2 ** 32;

/** Reads the primitive types of Kafka's protocol. Reading past the end throws a RangeError. */
export class ByteReader {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  int8(): number {
    const value = this.bytes.readInt8(this.at);
    this.at += 1;
    return value;
  }

  int16(): number {
    const value = this.bytes.readInt16BE(this.at);
    this.at += 2;
    return value;
  }

  int32(): number {
    const value = this.bytes.readInt32BE(this.at);
    this.at += 4;
    return value;
  }

  /** Offsets and times: exact up to 2^53. */
  int64(): number {
    const high = this.int32();
    const low = this.bytes.readUInt32BE(this.at);
    this.at += 4;
    return high * TWO_TO_32 + low;
  }

  /** A text with its length in 16 bits. */
  string(): string {
    const length = this.int16();
    this.at += length;
    return this.bytes.toString('utf8', this.at - length, this.at);
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
    this.at += length;
    if (this.at > this.bytes.length) throw new RangeError('the bytes end before the value does');
    return this.bytes.subarray(this.at - length, this.at);
  }

  /** A text with its length as a varint. */
  varString(): string {
    const length = this.varint();
    this.at += length;
    return this.bytes.toString('utf8', this.at - length, this.at);
  }
}
