// `npm run bench`: every figure beside its alternative, in one run; `npm run bench -- NAME…`: some
// parts.
import { describeRun, RESULTS_FILE, writeResults } from './results.ts';
import { formatTable, type Table } from './table.ts';

type Bench = () => Promise<Table>;

/** The parts of a whole run, in its order. */
const WHOLE: Readonly<Record<string, Bench>> = {
  chain: async () => (await import('./chain/chain.ts')).benchChain(),
  gateway: async () => (await import('./checks/gateway.ts')).benchGateway(),
  latency: async () => (await import('./checks/latency.ts')).benchLatency(),
  checks: async () => (await import('./checks/checks.ts')).benchChecks(),
  batches: async () => (await import('./checks/batches.ts')).benchBatches(),
  watches: async () => (await import('./watches/watches.ts')).benchWatches(),
  webhooks: async () => (await import('./webhooks/webhooks.ts')).benchWebhooks(),
  growth: async () => (await import('./growth.ts')).benchGrowth(),
  idle: async () => (await import('./checks/idle.ts')).benchIdle(),
};
/** Parts that run only by name. */
const FURTHER: Readonly<Record<string, Bench>> = {
  hops: async () => (await import('./profile/hops.ts')).benchHops(),
  rebuild: async () => (await import('./watches/rebuild-members.ts')).benchRebuild(),
  messages: async () => (await import('./profile/count-messages.ts')).benchMessages(),
  profile: async () => (await import('./profile/profile.ts')).benchProfile('checks-3'),
  'profile-20': async () => (await import('./profile/profile.ts')).benchProfile('checks-20'),
  'profile-webhooks': async () => (await import('./profile/profile.ts')).benchProfile('webhooks'),
  'profile-idle': async () => (await import('./profile/profile.ts')).benchProfile('idle'),
};
const PARTS: Readonly<Record<string, Bench>> = { ...WHOLE, ...FURTHER };

const given = process.argv.slice(2);
const unknown = given.filter((name) => !(name in PARTS));
if (unknown.length > 0) {
  console.error(`bench: unknown ${unknown.join(', ')}; known parts: ${Object.keys(PARTS).join(', ')}`);
  process.exitCode = 1;
} else await runParts(given.length > 0 ? given : Object.keys(WHOLE));

/** Runs parts one after the other. A part that fails has no figures. */
async function runParts(names: readonly string[]): Promise<void> {
  const run = describeRun();
  const tables: Record<string, Table> = {};
  for (const name of names) {
    try {
      const table = await PARTS[name]?.();
      if (!table) continue;
      tables[name] = table;
      console.log(formatTable(table));
      writeResults(run, tables);
    } catch (error) {
      console.error(`\nbench ${name} failed and has no figures:`, error);
      process.exitCode = 1;
    }
  }
  const rows = Object.values(tables).flatMap((table) => table.rows);
  if (names.length > 1) console.log(formatTable({ title: 'All parts', rows }));
  console.log(`\nwritten to ${RESULTS_FILE}`);
}
