import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readMarked, writeMarked } from './marked-text.ts';

const MARKS = { begin: '<!-- figures -->', end: '<!-- end of figures -->' };

test('text is written between the marks, and the rest of the document stays as it is', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'marked-text-')), 'README.md');
  writeFileSync(file, '# Title\n<!-- figures -->\nold\n<!-- end of figures -->\nThe end.\n');
  writeMarked(file, MARKS, 'new');
  const document = readFileSync(file, 'utf8');
  expect(document).toBe('# Title\n<!-- figures -->\nnew\n<!-- end of figures -->\nThe end.\n');
  expect(readMarked(document, MARKS)).toBe('new');
});

test.each(['# Title', '<!-- figures -->', '<!-- end of figures --> <!-- figures -->'])(
  'a document without both marks in order is refused: %s',
  (document) => {
    expect(() => readMarked(document, MARKS)).toThrow('no marks');
  },
);
