// `npm run test:providers`: every provider through the chain layer and the log follower. The exit code says whether every
// promise was kept. Arguments: names of profiles; --quorum N; --seconds N for each phase.
import { parseArgs } from 'node:util';
import { PROFILES } from './all-profiles.ts';
import { runProfiles } from './run-profiles.ts';
import { brokenOf, formatRows } from './table.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quorum: { type: 'string', default: '1' }, seconds: { type: 'string', default: '60' } },
});
const phaseMs = Number(values.seconds) * 1_000;
const chosen = PROFILES.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const rows = await runProfiles(chosen, {
  quorum: Number(values.quorum),
  times: { warmUpMs: Math.min(phaseMs, 60_000), phaseMs, drainMsMax: 60_000 },
});
say(formatRows(rows));
for (const row of rows) for (const broken of brokenOf(row)) say(`${row.name}: ${broken}`);
process.exit(rows.every((row) => brokenOf(row).length === 0) ? 0 : 1);
