/** Bytes over an `ArrayBuffer` that is not shared, as WebCrypto requires. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** Bytes of base64 or base64url text, padded or not; `undefined` if it is neither. */
export function bytesOfBase64(text: string): Bytes | undefined {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

export const bytesOfText = (text: string): Bytes => new TextEncoder().encode(text);
