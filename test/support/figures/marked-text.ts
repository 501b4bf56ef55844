import { readFileSync, writeFileSync } from 'node:fs';

/** The two comments between which a program writes a part of a document. */
export type Marks = { readonly begin: string; readonly end: string };

/** The text between the marks, trimmed. @throws Error if the document has no such marks */
export function readMarked(document: string, marks: Marks): string {
  const { from, to } = findMarks(document, marks);
  return document.slice(from, to).trim();
}

/** Replaces the text between the marks of a file. @throws Error if it has no such marks */
export function writeMarked(file: string, marks: Marks, text: string): void {
  const document = readFileSync(file, 'utf8');
  const { from, to } = findMarks(document, marks);
  writeFileSync(file, `${document.slice(0, from)}\n${text}\n${document.slice(to)}`);
}

function findMarks(document: string, { begin, end }: Marks): { from: number; to: number } {
  const beginAt = document.indexOf(begin);
  const to = document.indexOf(end);
  if (beginAt < 0 || to < beginAt) throw new Error(`the document has no marks ${begin}`);
  return { from: beginAt + begin.length, to };
}
