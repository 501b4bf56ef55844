// `npm run test:providers`: every provider through the chain layer and the log follower, with
// quorum 1 and 2. The exit code says whether every promise was kept.
//
//   node test/providers/main.ts [--quorum 1|2] [--seconds N] [profile …]
import { parseArgs } from 'node:util';
import { PROFILES } from './all-profiles.ts';
import { runProfiles, startStages } from './run-profiles.ts';
import { brokenOf, formatRows } from './table.ts';

const WARM_UP_S_MAX = 60;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quorum: { type: 'string', multiple: true }, seconds: { type: 'string', default: '60' } },
});
const unknown = positionals.filter((name) => !PROFILES.some((profile) => profile.name === name));
if (unknown.length > 0)
  throw new Error(
    `no such profile: ${unknown.join(', ')}; there are ${PROFILES.map(({ name }) => name).join(', ')}`,
  );
const seconds = Number(values.seconds);
const times = {
  warmUpMs: Math.min(seconds, WARM_UP_S_MAX) * 1_000,
  phaseMs: seconds * 1_000,
  drainMsMax: 60_000,
  ordinaryEveryMs: 500,
  hostileEveryMs: 200,
};
const profiles = PROFILES.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
let isKept = true;
for (const quorum of (values.quorum ?? ['1', '2']).map(Number)) {
  await using scope = new AsyncDisposableStack();
  const stages = await startStages(scope, profiles);
  const rows = await runProfiles(profiles, { stages, quorum, times });
  say(`\nquorum ${quorum}\n\n${formatRows(rows)}`);
  for (const row of rows)
    for (const broken of brokenOf(row)) {
      isKept = false;
      say(`${row.profile.name}: ${broken}`);
    }
}
process.exit(isKept ? 0 : 1);
