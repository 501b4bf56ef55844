// `npm run test:chaos`: runs rows of the fault matrix. The exit code says whether every promise was
// kept.
import { writeFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { readCommit } from '../support/figures/read-version.ts';
import { ALL_FAULTS, SELECTION } from './all-faults.ts';
import type { Fault } from './fault.ts';
import { type ChaosOptions, parseOptions } from './runner/options.ts';
import { describeRun, formatRow, formatTable } from './runner/report.ts';
import { type BrokenResult, formatBroken, runBroken } from './runner/run-broken.ts';
import { isWell, type RowResult, runRows } from './runner/run-rows.ts';
import { makeSoak, type Sample } from './soak.ts';

/** Clients may wait longer because of other suites on the machine. */
const SELECTION_LOAD = { perSecond: 25, timesDecide: false } as const;

try {
  process.exitCode = await main(parseOptions(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  if (error.code === 'usage') console.error(error.message);
  process.exitCode = error.exitCode;
}
// Killed or frozen processes may still hold a socket.
process.exit();

async function main(options: ChaosOptions): Promise<number> {
  console.log(`seed ${options.seed}, ${options.seconds} s`);
  const commit = readCommit();
  const samples: Sample[] = [];
  const done: RowResult[] = [];
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interruption.abort());
  const run = {
    ...options,
    interrupted: interruption.signal,
    ...(options.selection && SELECTION_LOAD),
    say: (line: string) => console.log(line),
    done(row: RowResult) {
      console.log(formatRow(row));
      // An interrupted run has already printed its results.
      done.push(row);
      writeJson(options, { commit, rows: done, broken: [], samples });
    },
  };
  const rows = await runRows(chosen(options, samples), run);
  const broken = await runBroken(options.all ? ['all'] : options.broken, run);
  const tables = [
    ...(rows.length > 0 ? [formatTable(rows)] : []),
    ...(broken.length > 0 ? [formatBroken(broken)] : []),
  ].join('\n\n');
  console.log(`\n${tables}`);
  writeJson(options, { commit, rows, broken, samples });
  console.log(`\nwritten to ${options.json}`);
  const isProven = rows.every(isWell) && broken.every(({ isCaught }) => isCaught);
  // A single broken variant is reported like any other run: its broken promise fails the run.
  return isProven && options.broken.length === 0 ? 0 : 1;
}

function chosen({ all, selection, soak, faults }: ChaosOptions, samples: Sample[]): readonly Fault[] {
  if (all) return ALL_FAULTS;
  if (soak) return [makeSoak(samples)];
  const ids = selection ? SELECTION : faults;
  return ids.map((id) => {
    const found = ALL_FAULTS.find((fault) => fault.id === id);
    if (!found) throw new CommanderError(1, 'usage', `unknown row ${id}`);
    return found;
  });
}

type Seen = {
  /** The commit at the start of the run. */
  readonly commit: string;
  readonly rows: readonly RowResult[];
  readonly broken: readonly BrokenResult[];
  readonly samples: readonly Sample[];
};

function writeJson({ json, seed, seconds }: ChaosOptions, seen: Seen): void {
  writeFileSync(json, `${JSON.stringify({ machine: describeRun(), seed, seconds, ...seen }, null, 2)}\n`);
}
