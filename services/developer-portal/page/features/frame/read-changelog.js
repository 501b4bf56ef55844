/** A longer file is cut: a browser draws thousands of entries slowly. */
const CHARS_MAX = 200_000;
/** `code`, **strong**, *emphasis*, [text](address); everything else is text. */
const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]+)\]\(([^)\s]+)\)/g;

/** @typedef {{ kind: 'text' | 'code' | 'strong' | 'em' | 'link', text: string, href?: string }} Piece */
/** @typedef {{ title: string, entries: Piece[][] }} Part */

/**
 * The parts of a changelog in Markdown: a title (`## …`) with its entries (`- …`), each in pieces.
 * @returns {Part[]}
 *
 * @example
 * readChangelog('## 1.2\n\n- Adds `x`.')[0].entries[0]; // text 'Adds ', code 'x', text '.'
 */
export function readChangelog(markdown) {
  /** @type {{ title: string, entries: string[] }[]} */
  const parts = [];
  const lines = markdown.slice(0, CHARS_MAX).split('\n');
  // The last line of a file that was cut may be half a line.
  if (markdown.length > CHARS_MAX) lines.pop();
  for (const line of lines) {
    const part = parts.at(-1);
    if (line.startsWith('## ')) parts.push({ title: line.slice(3).trim(), entries: [] });
    else if (part && line.startsWith('- ')) part.entries.push(line.slice(2));
    else if (part && line.startsWith('  ') && part.entries.length > 0)
      part.entries.push(`${part.entries.pop()} ${line.trim()}`);
  }
  return parts.map(({ title, entries }) => ({ title, entries: entries.map(piecesOf) }));
}

function piecesOf(entry) {
  /** @type {Piece[]} */
  const pieces = [];
  let end = 0;
  const addText = (text) => text && pieces.push({ kind: 'text', text });
  for (const match of entry.matchAll(INLINE)) {
    const [whole, code, strong, em, text, href] = match;
    addText(entry.slice(end, match.index));
    end = match.index + whole.length;
    if (code !== undefined) pieces.push({ kind: 'code', text: code });
    else if (strong !== undefined) pieces.push({ kind: 'strong', text: strong });
    else if (em !== undefined) pieces.push({ kind: 'em', text: em });
    // A path leads somewhere in the repository, which the portal does not serve.
    else if (text && href?.startsWith('https://')) pieces.push({ kind: 'link', text, href });
    else addText(text);
  }
  addText(entry.slice(end));
  return pieces;
}
