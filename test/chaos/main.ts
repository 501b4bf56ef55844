// `npm run test:chaos`: runs rows of the fault matrix. The exit code says whether every promise was kept.
import { writeFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { ALL_FAULTS, SELECTION } from './all-faults.ts';
import type { Fault } from './fault.ts';
import { type ChaosOptions, parseOptions } from './options.ts';
import { describeMachine, formatRow, formatTable } from './report.ts';
import { type BrokenResult, formatBroken, runBroken } from './run-broken.ts';
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
  const run = {
    ...options,
    say: (line: string) => console.log(line),
    done: (row: RowResult) => console.log(formatRow(row)),
  };
  const rows = await runRows(chosen(options), run);
  const broken = await runBroken(options.all ? ['all'] : options.broken, run);
  if (rows.length > 0) console.log(`\n${formatTable(rows)}`);
  if (broken.length > 0) console.log(`\n${formatBroken(broken)}`);
  write(options, rows, broken);
  const isProven = rows.every(isWell) && broken.every(({ isCaught }) => isCaught);
  // A broken variant by itself is a run like any other: what it breaks decides.
  return isProven && options.broken.length === 0 ? 0 : 1;
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

function write(
  { json, seed, seconds }: ChaosOptions,
  rows: readonly RowResult[],
  broken: readonly BrokenResult[],
): void {
  writeFileSync(
    json,
    `${JSON.stringify({ machine: describeMachine(), seed, seconds, rows, broken }, null, 2)}\n`,
  );
  console.log(`\nwritten to ${json}`);
}
