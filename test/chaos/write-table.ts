import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const README = fileURLToPath(new URL('./README.md', import.meta.url));

/**
 * Puts a table into this folder's README, between the marks that bear its name.
 *
 * @throws Error where the marks are missing
 */
export function writeTable(name: 'matrix' | 'soak', text: string): void {
  const before = readFileSync(README, 'utf8');
  const [begin, end] = [`<!-- ${name}: written by --write-table -->`, `<!-- end of ${name} -->`];
  const from = before.indexOf(begin);
  const to = before.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the README has no place for the ${name}`);
  writeFileSync(README, `${before.slice(0, from + begin.length)}\n${text}\n${before.slice(to)}`);
}
