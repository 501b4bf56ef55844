import type { GiveWay } from '#shared/fairness/fair-ticks.ts';

const [QUOTE, BACKSLASH, COLON, COMMA] = Buffer.from('"\\:,');
const OPENING: readonly (number | undefined)[] = [...Buffer.from('[{')];
const CLOSING: readonly (number | undefined)[] = [...Buffer.from(']}')];
const [LIST] = OPENING;

/** How much is looked at before others have their turn: some tenths of a millisecond. */
const STRIDE_BYTES = 64 * 1024;

type CutText = {
  /** The text with empty lists in their place. */
  readonly rest: Buffer;
  /** The texts of the lists, without their brackets; of several of one name the last. */
  readonly lists: ReadonlyMap<string, Buffer>;
};

/**
 * Cuts lists out of the text of a JSON object, by the names of its members. What is no JSON stays
 * none: `rest` or an element of a list has the fault.
 *
 * @param text in UTF-8
 * @example
 * await cutLists(Buffer.from('{"a":[1,2],"b":3}'), ['a'], giveWay); // {"a":[],"b":3} and 1,2
 */
export async function cutLists(text: Buffer, names: readonly string[], giveWay: GiveWay): Promise<CutText> {
  const lists = new Map<string, Buffer>();
  const kept: Buffer[] = [];
  let [keptFrom, depth, nextPause] = [0, 0, STRIDE_BYTES];
  let lastText = '';
  let member: string | undefined;
  let list: { readonly name: string; readonly from: number } | undefined;
  const endList = (at: number): void => {
    if (list === undefined) return;
    lists.set(list.name, text.subarray(list.from, at));
    kept.push(text.subarray(keptFrom, list.from));
    keptFrom = at;
    list = undefined;
  };
  for (let at = 0; at < text.length; at += 1) {
    if (at >= nextPause) {
      await giveWay();
      nextPause = at + STRIDE_BYTES;
    }
    const byte = text[at];
    if (byte === QUOTE) {
      const from = at + 1;
      at = endOfText(text, from);
      if (depth === 1) lastText = text.toString('latin1', from, Math.min(at, from + NAME_CHARS_MAX));
    } else if (byte === COLON && depth === 1) member = lastText;
    else if (byte === COMMA && depth === 1) member = undefined;
    else if (OPENING.includes(byte)) {
      if (byte === LIST && depth === 1 && member !== undefined && names.includes(member))
        list = { name: member, from: at + 1 };
      depth += 1;
    } else if (CLOSING.includes(byte)) {
      depth -= 1;
      if (depth === 1) endList(at);
    }
  }
  // A text that ends inside of a list: without the list it still ends too early.
  endList(text.length);
  kept.push(text.subarray(keptFrom));
  return { rest: Buffer.concat(kept), lists };
}

/** More than any name of a list has. */
const NAME_CHARS_MAX = 32;

/** The place of the quotation mark that ends a text. */
function endOfText(text: Buffer, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
  return Math.min(at, text.length);
}

/** The elements of a list, as they stand between its commas. */
export function* splitElements(list: Buffer): Generator<Buffer, void> {
  let [from, depth] = [0, 0];
  for (let at = 0; at < list.length; at += 1) {
    const byte = list[at];
    if (byte === QUOTE) at = endOfText(list, at + 1);
    else if (OPENING.includes(byte)) depth += 1;
    else if (CLOSING.includes(byte)) depth -= 1;
    else if (byte === COMMA && depth === 0) {
      yield list.subarray(from, at);
      from = at + 1;
    }
  }
  yield list.subarray(from);
}
