// `npm run test:chaos`: runs rows of the fault matrix. The exit code says whether every promise was kept.
import { writeFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { ALL_FAULTS, SELECTION } from './all-faults.ts';
import type { Fault } from './fault.ts';
import { type ChaosOptions, parseOptions } from './options.ts';
import { describeMachine, formatRow, formatTable } from './report.ts';
import { isWell, type RowResult, runRows } from './run-rows.ts';

try {
  process.exitCode = await main(parseOptions(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  if (error.code === 'usage') console.error(error.message);
  process.exitCode = error.exitCode;
}
// What was done harm to may still hold a socket.
process.exit();

async function main(options: ChaosOptions): Promise<number> {
  console.log(`seed ${options.seed}, ${options.seconds} s`);
  const rows = await runRows(chosen(options), {
    ...options,
    say: (line) => console.log(line),
    done: (row) => console.log(formatRow(row)),
  });
  console.log(`\n${formatTable(rows)}`);
  write(options, rows);
  return rows.length > 0 && rows.every(isWell) ? 0 : 1;
}

function chosen({ all, selection, faults }: ChaosOptions): readonly Fault[] {
  if (all) return ALL_FAULTS;
  const ids = selection ? SELECTION : faults;
  return ids.map((id) => {
    const found = ALL_FAULTS.find((fault) => fault.id === id);
    if (!found) throw new CommanderError(1, 'usage', `there is no row ${id}`);
    return found;
  });
}

function write({ json, seed, seconds }: ChaosOptions, rows: readonly RowResult[]): void {
  writeFileSync(json, `${JSON.stringify({ machine: describeMachine(), seed, seconds, rows }, null, 2)}\n`);
  console.log(`\nwritten to ${json}`);
}
