import fc from 'fast-check';
import { storiesHold } from '../support/judges/member-model.ts';

// Runs many random stories of a member of a watch against a simple model (`member-model.ts`).
//
//   node test/fuzz/members.ts [stories, default 10 000]

const numRuns = Number(process.argv[2] ?? 10_000);
const startedMs = performance.now();
fc.assert(storiesHold(), { numRuns });
process.stdout.write(`${numRuns} stories in ${Math.round(performance.now() - startedMs)} ms\n`);
