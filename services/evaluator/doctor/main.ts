import { describeError } from '#shared/errors.ts';
import { readChainFile } from '#shared/read-chain-file.ts';
import { checkChains } from '../chain/doctor/check-chains.ts';

// Checks the chain file that the first argument names, and prints one JSON value: the reports, or
// why there are none. The admin command `chains check` runs it as a process of its own: only the
// evaluator knows how endpoints are read.

/** Time limit of one call: longer than an evaluation allows, so that a slow endpoint is told from a
 * dead one. */
const TIMEOUT_MS = 5_000;

const missing: { pointer: string; name: string }[] = [];
const answer = async () => {
  try {
    const noteMissing = (pointer: string, name: string) => missing.push({ pointer, name });
    const file = readChainFile(process.argv[2] ?? '', process.env, { noteMissing });
    return { reports: await checkChains(file, { timeoutMs: TIMEOUT_MS, missing }) };
  } catch (error) {
    const { code, message } = describeError(error);
    return { error: { code, message } };
  }
};
process.stdout.write(JSON.stringify(await answer()));
