import { fileURLToPath } from 'node:url';
import { writeMarked } from '../support/figures/marked-text.ts';

const README = fileURLToPath(new URL('./README.md', import.meta.url));

/** Writes a table into this folder's README, between the marks with its name. @throws Error if it has no such marks */
export const writeTable = (name: 'matrix' | 'soak', text: string): void =>
  writeMarked(
    README,
    { begin: `<!-- ${name}: written by --write-table -->`, end: `<!-- end of ${name} -->` },
    text,
  );
