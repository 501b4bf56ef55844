import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readChangelog } from './read-changelog.js';

const read = (markdown: string) => readChangelog(markdown);

test('entries have their wrapped lines, and their pieces have their kinds', () => {
  expect(
    read('# Changelog\n\nIntro\n\n## 1.2\n\n- Adds `x`, *Try it*\n  and **y**.\n- Second.\n\n## 1.1\n'),
  ).toEqual([
    {
      title: '1.2',
      entries: [
        [
          { kind: 'text', text: 'Adds ' },
          { kind: 'code', text: 'x' },
          { kind: 'text', text: ', ' },
          { kind: 'em', text: 'Try it' },
          { kind: 'text', text: ' and ' },
          { kind: 'strong', text: 'y' },
          { kind: 'text', text: '.' },
        ],
        [{ kind: 'text', text: 'Second.' }],
      ],
    },
    { title: '1.1', entries: [] },
  ]);
});

test('only an https address becomes a link; a path of the repository and any script stay text', () => {
  const kinds = (markdown: string) =>
    read(`## 1\n- ${markdown}`)[0]?.entries[0]?.map(({ kind }: { kind: string }) => kind);
  expect(kinds('[a](https://example.com/)')).toEqual(['link']);
  for (const href of ['../README.md', 'javascript:alert', 'http://example.com', '//example.com'])
    expect(kinds(`[a](${href})`)).toEqual(['text']);
});

test('a long file is cut at a whole line', () => {
  const entry = `- ${'x'.repeat(98)}\n`;
  const [part] = read(`## 1\n${entry.repeat(5_000)}`);
  expect(part?.entries.length).toBeGreaterThan(1_900);
  expect(part?.entries.length).toBeLessThan(2_000);
  expect(part?.entries.at(-1)?.[0]?.text).toHaveLength(98);
});

test("the page shows every entry of the project's own changelog", () => {
  const markdown = readFileSync(join(__dirname, '../../../../CHANGELOG.md'), 'utf8');
  const shown = read(markdown).reduce(
    (sum: number, { entries }: { entries: unknown[] }) => sum + entries.length,
    0,
  );
  expect(shown).toBe(markdown.split('\n').filter((line) => line.startsWith('- ')).length);
});
