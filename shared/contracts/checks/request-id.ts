const SHAPE = /^[A-Za-z0-9_-]{40}$/;

/**
 * The instant that a request id says it was issued at, epoch ms; undefined for a text of another
 * shape. Nothing tells that it really was issued: the gateway alone verifies ids.
 *
 * @example
 * issuedAtOf('AQIBofwEwmibyuoaXYj9AIDX34EW0VVy3Lod1f4H'); // 1 795 255 2…
 */
export const issuedAtOf = (requestId: string): number | undefined =>
  SHAPE.test(requestId) ? Buffer.from(requestId, 'base64url').readUIntBE(2, 6) : undefined;
