// `npm run bench [-- system|gateway|chain|chain-memory|isolation|webhooks]`: prints a table and writes it to bench-results.json.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { formatTable, type Table } from './table.ts';

const RESULTS_FILE = 'bench-results.json';
const BYTES_PER_GIB = 2 ** 30;

const BENCHES: Readonly<Record<string, () => Promise<Table>>> = {
  system: async () => (await import('./system.ts')).benchSystem(),
  gateway: async () => (await import('./gateway.ts')).benchGateway(),
  chain: async () => (await import('./chain.ts')).benchChain(),
  'chain-memory': async () => (await import('./chain-memory.ts')).benchChainMemory(),
  isolation: async () => (await import('./isolation.ts')).benchIsolation(),
  webhooks: async () => (await import('./webhooks.ts')).benchWebhooks(),
};

const [name = 'system'] = process.argv.slice(2);
const bench = BENCHES[name];
if (bench) {
  const table = await bench();
  console.log(formatTable(table));
  writeResults(name, table);
} else {
  console.error(`bench: there is no ${name}; there are ${Object.keys(BENCHES).join(', ')}`);
  process.exitCode = 1;
}

/** One table per bench, the newest; those of the other benches stay. */
function writeResults(of: string, table: Table): void {
  const machine = {
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / BYTES_PER_GIB),
    node: process.version,
  };
  const results = { ...readResults(), [of]: { at: new Date().toISOString(), machine, ...table } };
  writeFileSync(RESULTS_FILE, `${JSON.stringify(results, null, 2)}\n`);
  console.log(`\n  written to ${RESULTS_FILE}`);
}

function readResults(): Record<string, unknown> {
  try {
    return JSON.parse(readFileSync(RESULTS_FILE, 'utf8')) as Record<string, unknown>;
  } catch {
    return {};
  }
}
