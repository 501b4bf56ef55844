const SEED = 0x9747b28c;
const MULTIPLIER = 0x5bd1e995;

/**
 * The hash by which Kafka's clients choose the partition of a key: `(murmur2(key) & 0x7fffffff) % partitionCount`. Signed.
 *
 * @example
 * murmur2('a key'); // the same number as in kafkajs and in the Java client
 */
export function murmur2(key: string | Buffer): number {
  const bytes = typeof key === 'string' ? Buffer.from(key) : key;
  const { length } = bytes;
  const wholeEnd = length - (length % 4);
  let hash = SEED ^ length;
  for (let at = 0; at < wholeEnd; at += 4) {
    const word = Math.imul(bytes.readInt32LE(at), MULTIPLIER);
    hash = Math.imul(hash, MULTIPLIER) ^ Math.imul(word ^ (word >>> 24), MULTIPLIER);
  }
  if (wholeEnd < length) {
    hash ^= bytes.readUIntLE(wholeEnd, length - wholeEnd);
    hash = Math.imul(hash, MULTIPLIER);
  }
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER);
  return hash ^ (hash >>> 15);
}
