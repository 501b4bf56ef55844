import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** The tools that `setup.mjs` found or fetched; it writes this file beside the packages. */
const Toolchain = z.object({
  java: z.string(),
  /** The server's binary; it must be started under the name `redis-server`. */
  redis: z.string(),
  /** A Chromium or Chrome, for tests; not looked for by `npm start`. */
  browser: z.string().nullish(),
  /** For tests, as are nginx and Caddy; null on a machine that cannot fetch them. */
  prometheus: z.object({ server: z.string(), tool: z.string() }).nullish(),
  nginx: z.object({ server: z.string() }).nullish(),
  caddy: z.object({ server: z.string() }).nullish(),
  kafka: z.object({ version: z.string(), jars: z.array(z.string()).min(1), archive: z.string().nullable() }),
});
export type Toolchain = z.infer<typeof Toolchain>;

/**
 * Where Java, Redis and Kafka's jars are on this machine.
 *
 * @throws Error that names the command which prepares the machine, if it has not been run.
 *
 * @example
 * loadToolchain().java; // '/usr/bin/java'
 */
export function loadToolchain(): Toolchain {
  try {
    return Toolchain.parse(
      JSON.parse(readFileSync(join(ROOT, 'node_modules', '.rolecall-setup.json'), 'utf8')),
    );
  } catch (cause) {
    throw new Error('this machine is not prepared: run `node deploy/local/setup.mjs` first', { cause });
  }
}
