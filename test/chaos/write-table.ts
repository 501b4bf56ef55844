import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const README = fileURLToPath(new URL('./README.md', import.meta.url));

/**
 * Writes a table into this folder's README, between the marks with its name.
 *
 * @throws Error if the marks are missing
 */
export function writeTable(name: 'matrix' | 'soak', text: string): void {
  const before = readFileSync(README, 'utf8');
  const [begin, end] = [`<!-- ${name}: written by --write-table -->`, `<!-- end of ${name} -->`];
  const from = before.indexOf(begin);
  const to = before.indexOf(end);
  if (from < 0 || to < from) throw new Error(`test/chaos/README.md has no marks for the ${name}`);
  writeFileSync(README, `${before.slice(0, from + begin.length)}\n${text}\n${before.slice(to)}`);
}
