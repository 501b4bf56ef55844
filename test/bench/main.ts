// `npm run bench`: every figure beside its alternative, in one run; `npm run bench -- NAME`: one part.
import { writeFigures } from './readme-figures.ts';
import { loadResults, WHOLE_PARTS, type WholePart, writeResults } from './results.ts';
import type { Table } from './row.ts';
import { formatTable } from './table.ts';

type Bench = () => Promise<Table>;

const WHOLE: Readonly<Record<WholePart, Bench>> = {
  chain: async () => (await import('./chain.ts')).benchChain(),
  gateway: async () => (await import('./gateway.ts')).benchGateway(),
  latency: async () => (await import('./latency.ts')).benchLatency(),
  checks: async () => (await import('./checks.ts')).benchChecks(),
  batches: async () => (await import('./batches.ts')).benchBatches(),
  watches: async () => (await import('./watches.ts')).benchWatches(),
  webhooks: async () => (await import('./webhooks.ts')).benchWebhooks(),
  'growth-ends': async () => (await import('./growth.ts')).benchGrowthEnds(),
  idle: async () => (await import('./idle.ts')).benchIdle(),
};

const PARTS: Readonly<Record<string, Bench>> = WHOLE;

/** Parts that run only by name. */
const FURTHER: Readonly<Record<string, Bench>> = {
  'chain-memory': async () => (await import('./chain-memory.ts')).benchChainMemory(),
  proofs: async () => (await import('./proofs.ts')).benchProofs(),
  isolation: async () => (await import('./isolation.ts')).benchIsolation(),
  'first-verdict': async () => (await import('./first-verdict.ts')).benchFirstVerdict(),
};

/** Parts that write their own files. */
const OTHERS: Readonly<Record<string, () => Promise<unknown>>> = {
  growth: async () => (await import('./growth.ts')).benchGrowth(process.argv.slice(3)),
  scale: async () => console.log(formatTable((await (await import('./scale.ts')).benchScale()).table)),
  profile: async () => (await import('./profile.ts')).benchProfile(),
  readme: async () => {
    writeFigures(loadResults());
    (await import('./growth.ts')).redrawGrowth();
  },
};

const [name, flag] = process.argv.slice(2);
const bench = name === undefined ? undefined : (PARTS[name] ?? FURTHER[name]);
const other = name === undefined ? undefined : OTHERS[name];
if (name === undefined) await runWhole();
else if (bench) await runPart(name, bench, flag === '--write');
else if (other) await other();
else {
  const known = [...Object.keys(WHOLE), ...Object.keys(FURTHER), ...Object.keys(OTHERS)];
  console.error(`bench: unknown part ${name}; known parts: ${known.join(', ')}`);
  process.exitCode = 1;
}

/** Runs every part. If one fails, nothing is written. */
async function runWhole(): Promise<void> {
  const tables: Record<string, Table> = {};
  for (const part of WHOLE_PARTS) {
    const table = await attempt(part, WHOLE[part]);
    if (table) tables[part] = table;
  }
  const rows = Object.values(tables).flatMap((table) => table.rows);
  console.log(formatTable({ title: 'All parts', rows }));
  if (process.exitCode) console.error('\n  something failed: nothing is written');
  else keep(tables, true);
}

async function runPart(part: string, run: Bench, isKept: boolean): Promise<void> {
  const table = await attempt(part, run);
  if (table && isKept && part in WHOLE) keep({ [part]: table }, false);
}

async function attempt(part: string, run: Bench): Promise<Table | undefined> {
  try {
    const table = await run();
    console.log(formatTable(table));
    return table;
  } catch (error) {
    console.error(`\nbench ${part} failed and has no figures:`, error);
    process.exitCode = 1;
    return undefined;
  }
}

function keep(tables: Readonly<Record<string, Table>>, isWhole: boolean): void {
  const results = writeResults(tables, isWhole);
  writeFigures(results);
  console.log(`\n  written to test/bench/results/latest.json, test/bench/README.md and README.md`);
}
