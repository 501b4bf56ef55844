import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const OUTPUT_BYTES_MAX = 16 * 1_048_576;

/**
 * Runs `docker` from the project's root and returns its output.
 *
 * @throws Error with what docker wrote, if it fails
 */
export async function runDocker(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<string> {
  const { stdout } = await promisify(execFile)('docker', args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  return stdout;
}
