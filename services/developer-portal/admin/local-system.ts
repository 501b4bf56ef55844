import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ServiceError } from '#shared/errors.ts';

/** The file that a running local system writes to its data directory for this command. */
export const LocalSystem = z.object({
  /** Environment variables for its broker, its Redis and its secret keys. */
  environment: z.record(z.string(), z.string()),
  processes: z.array(z.object({ service: z.string(), pid: z.number().int(), ops: z.string().nullable() })),
});
export type LocalSystem = z.infer<typeof LocalSystem>;

export const LOCAL_SYSTEM_FILE = 'system.json';

/**
 * Reads the description of the local system that runs in a data directory.
 *
 * @throws ServiceError `not-found` if no system runs in it
 */
export function loadLocalSystem(dataDir: string): LocalSystem {
  let text: string;
  try {
    text = readFileSync(join(dataDir, LOCAL_SYSTEM_FILE), 'utf8');
  } catch {
    throw new ServiceError(
      'not-found',
      `no local system runs in ${dataDir}: start one with npm start, name its directory with --data, or set KAFKA_BROKERS and REDIS_URL`,
    );
  }
  const parsed = LocalSystem.safeParse(JSON.parse(text));
  if (!parsed.success)
    throw new ServiceError(
      'not-found',
      `${LOCAL_SYSTEM_FILE} in ${dataDir} was written by another version; restart that system with npm start`,
    );
  return parsed.data;
}
