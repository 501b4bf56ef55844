const LINE_FEED = 0x0a;
/** Pieces of an unfinished line that are kept apart; more are joined, because each costs more memory than its bytes. */
const PIECES_MAX = 64;

type LineSplitter = {
  /** The lines that this chunk finishes, without their line feeds. */
  readonly push: (chunk: Buffer) => Generator<Buffer, void>;
  /** The last line, if the text did not end with a line feed. */
  readonly end: () => Buffer | undefined;
};

/**
 * Splits a text that arrives in chunks into lines. The result is the same however the text is cut into chunks.
 *
 * @param bytesMaxOf most bytes of the line at an index, from 0
 * @param tooLong the error for a longer line; thrown as soon as its bytes exceed the bound
 * @example
 * const { push, end } = splitLines(() => 8_192, (index) => new Error(`line ${index + 1} is too long`));
 * [...push(Buffer.from('a\nb')), end()]; // the lines a and b
 */
export function splitLines(
  bytesMaxOf: (index: number) => number,
  tooLong: (index: number) => Error,
): LineSplitter {
  let pieces: Buffer[] = [];
  let byteCount = 0;
  let index = 0;
  const add = (piece: Buffer): void => {
    byteCount += piece.length;
    if (byteCount > bytesMaxOf(index)) throw tooLong(index);
    pieces.push(piece);
    if (pieces.length > PIECES_MAX) pieces = [Buffer.concat(pieces)];
  };
  const finish = (): Buffer => {
    const line = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
    pieces = [];
    byteCount = 0;
    index += 1;
    return line;
  };
  return {
    *push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
        add(chunk.subarray(from, at));
        from = at + 1;
        yield finish();
      }
      if (from < chunk.length) add(chunk.subarray(from));
    },
    end: () => (byteCount > 0 ? finish() : undefined),
  };
}
