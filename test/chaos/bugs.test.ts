import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUGS, REPLACED } from './bugs.ts';

const ROOT = join(import.meta.dirname, '..', '..');

test.each(Object.entries({ ...BUGS, ...REPLACED }))(
  'the line that %s replaces occurs once in its file',
  (_, { file, part }) => {
    expect(readFileSync(join(ROOT, file), 'utf8').split(part)).toHaveLength(2);
  },
);
