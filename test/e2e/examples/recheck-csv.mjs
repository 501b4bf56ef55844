// Checks every member of a CSV file and prints `ref,role,outcome`. Needs @rolecall/client
//   ROLECALL_URL=… ROLECALL_API_KEY=… RULE_SET=holders node recheck-csv.mjs members.csv [address column] [ref column] > roles.csv
// Columns count from 1. Without them, the address is in the only column that has addresses, and
// your own id is in the column whose header is `ref` or `id`; the address stands for it where there
// is none.
import { readFile } from 'node:fs/promises';
import { foldRoles, Rolecall } from '@rolecall/client';

const [file, accountColumn, refColumn] = process.argv.slice(2);
const isAddress = (cell) => /^0x[0-9a-fA-F]{40}$/.test(cell ?? '');
const say = (text) => process.stderr.write(`${text}\n`);
const fail = (reason) => {
  say(reason);
  process.exit(1);
};

if (!file) fail('Name the file: node recheck-csv.mjs members.csv');

/** The cells of a line; a cell may be in quotes. */
function cellsOf(line, separator) {
  const cell = new RegExp(`(?<=^|${separator}) *(?:"((?:[^"]|"")*)"|([^${separator}]*))`, 'g');
  const text = separator === ' ' ? line.trim().replace(/ +/g, ' ') : line;
  return [...text.matchAll(cell)].map(([, quoted, plain]) => (quoted?.replaceAll('""', '"') ?? plain).trim());
}

const lines = (await readFile(file, 'utf8'))
  .replace(/^\uFEFF/, '')
  .split(/\r?\n/)
  .map((text, index) => ({ text, number: index + 1 }))
  .filter(({ text }) => text.trim() !== '');
const countOf = (separator) => lines.filter(({ text }) => cellsOf(text, separator).some(isAddress)).length;
const [separator] = [',', ';', '\t', ' '].toSorted((a, b) => countOf(b) - countOf(a));
const rows = lines.map(({ text, number }) => ({ number, cells: cellsOf(text, separator) }));

const found = new Set(
  rows.flatMap(({ cells }) => cells.flatMap((cell, at) => (isAddress(cell) ? [at] : []))),
);
if (found.size === 0) fail(`${file} has no address, such as 0x70997970C51812dc3A010C7d01b50e0d17dc79C8.`);
if (!accountColumn && found.size !== 1)
  fail(`${found.size} columns have addresses. Name the column: node recheck-csv.mjs ${file} 1`);
const account = accountColumn ? accountColumn - 1 : [...found][0];
const header = rows[0]?.cells[account]?.startsWith('0x') ? undefined : rows.shift()?.cells;
const named = (header ?? []).findIndex((name) => /^(ref|id)$/i.test(name));
const ref = refColumn ? refColumn - 1 : named;
const faulty = rows.find(({ cells }) => !isAddress(cells[account]));
if (faulty) fail(`Line ${faulty.number} has no address in column ${account + 1}.`);
const entries = rows.map(({ cells }) => ({
  account: cells[account],
  ...(cells[ref] && { ref: cells[ref] }),
}));
say(`${header ? `Header: ${header.join(', ')}. ` : ''}Column ${account + 1} is the address,`);
say(`${ref < 0 ? 'no column' : `column ${ref + 1}`} the ref; ${entries.length} members.`);

const rolecall = new Rolecall({ baseUrl: process.env.ROLECALL_URL, apiKey: process.env.ROLECALL_API_KEY });
const csv = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
let undetermined = 0;
process.stdout.write('ref,role,outcome\n');
for await (const line of rolecall.batch({ entries, ruleSet: process.env.RULE_SET ?? 'holders' })) {
  for (const [role, outcome] of foldRoles(line)) {
    process.stdout.write(`${csv(line.ref ?? line.account)},${csv(role)},${outcome}\n`);
    if (outcome === 'undetermined') undetermined++;
  }
}
// An unreadable role is not a "no": run again for these members, and take nothing away until then.
if (undetermined > 0) say(`${undetermined} roles could not be read`);
