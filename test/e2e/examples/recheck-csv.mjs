// Checks every member of a CSV file (`ref,account` with a header line) and prints `ref,role,outcome`: npm install @rolecall/client
//   ROLECALL_URL=… ROLECALL_API_KEY=… RULE_SET=holders node recheck-csv.mjs members.csv > roles.csv
import { readFile } from 'node:fs/promises';
import { foldRoles, Rolecall } from '@rolecall/client';

const rolecall = new Rolecall({ baseUrl: process.env.ROLECALL_URL, apiKey: process.env.ROLECALL_API_KEY });
const [, ...rows] = (await readFile(process.argv[2], 'utf8')).trim().split(/\r?\n/);
const entries = rows.map((row) => {
  const [ref, account] = row.split(',');
  return { ref, account };
});

let undetermined = 0;
process.stdout.write('ref,role,outcome\n');
for await (const line of rolecall.batch({ entries, ruleSet: process.env.RULE_SET ?? 'holders' })) {
  for (const [role, outcome] of foldRoles(line)) {
    process.stdout.write(`${line.ref},${role},${outcome}\n`);
    if (outcome === 'undetermined') undetermined++;
  }
}
// An unreadable role is not a "no": run again for these members, and take nothing away until then.
if (undetermined > 0) process.stderr.write(`${undetermined} roles could not be read\n`);
