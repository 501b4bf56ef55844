/** The reversed polynomial of CRC-32C (Castagnoli). */
const POLYNOMIAL = 0x82f63b78;
/** Bytes taken in one step, each with a table of its own. */
const STEP = 8;
const TABLES = makeTables();

function makeTables(): Int32Array {
  const tables = new Int32Array(STEP * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
    tables[byte] = crc;
  }
  for (let i = 256; i < tables.length; i++) {
    const before = tables[i - 256] as number;
    tables[i] = (before >>> 8) ^ (tables[before & 255] as number);
  }
  return tables;
}

const look = (table: number, byte: number): number => TABLES[table * 256 + byte] as number;

/**
 * The CRC-32C checksum of bytes `from` to `to` (exclusive), which a record batch carries; unsigned.
 *
 * @example
 * crc32c(Buffer.from('123456789'), 0, 9); // 0xe3069283
 */
export function crc32c(bytes: Buffer, from: number, to: number): number {
  const byteAt = (index: number): number => bytes[index] as number;
  let crc = -1;
  let at = from;
  for (; at + STEP <= to; at += STEP) {
    const low = crc ^ (byteAt(at) | (byteAt(at + 1) << 8) | (byteAt(at + 2) << 16) | (byteAt(at + 3) << 24));
    crc =
      look(7, low & 255) ^
      look(6, (low >>> 8) & 255) ^
      look(5, (low >>> 16) & 255) ^
      look(4, low >>> 24) ^
      look(3, byteAt(at + 4)) ^
      look(2, byteAt(at + 5)) ^
      look(1, byteAt(at + 6)) ^
      look(0, byteAt(at + 7));
  }
  for (; at < to; at++) crc = look(0, (crc ^ byteAt(at)) & 255) ^ (crc >>> 8);
  return ~crc >>> 0;
}
