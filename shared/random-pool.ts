import { randomFillSync } from 'node:crypto';

const POOL_BYTES = 4_096;

/**
 * Deals out cryptographic randomness in pieces of `lengthBytes`, as hex. It is drawn from the
 * system a pool at a time: a system call for every piece costs more than the use of the piece.
 *
 * @example
 * const spanId = makeRandomHex(8);
 * spanId(); // 16 hex digits
 */
export function makeRandomHex(lengthBytes: number): () => string {
  const pool = Buffer.alloc(POOL_BYTES - (POOL_BYTES % lengthBytes));
  let next = pool.length;
  return () => {
    if (next === pool.length) {
      randomFillSync(pool);
      next = 0;
    }
    next += lengthBytes;
    return pool.toString('hex', next - lengthBytes, next);
  };
}
