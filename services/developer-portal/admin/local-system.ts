import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ServiceError } from '#shared/errors.ts';

/** What a running local system leaves in its data directory for this command. */
export const LocalSystem = z.object({
  /** The variables that lead to its broker, its Redis and its keys. */
  environment: z.record(z.string(), z.string()),
  processes: z.array(z.object({ service: z.string(), pid: z.number().int(), ops: z.string().nullable() })),
});
export type LocalSystem = z.infer<typeof LocalSystem>;

export const LOCAL_SYSTEM_FILE = 'system.json';

/**
 * Reads where the local system of a data directory is.
 *
 * @throws ServiceError `not-found` where no system runs in it
 */
export function loadLocalSystem(dataDir: string): LocalSystem {
  let text: string;
  try {
    text = readFileSync(join(dataDir, LOCAL_SYSTEM_FILE), 'utf8');
  } catch {
    throw new ServiceError(
      'not-found',
      `no local system runs in ${dataDir}: start one by npm start, or name one by --data, or by KAFKA_BROKERS and REDIS_URL`,
    );
  }
  const parsed = LocalSystem.safeParse(JSON.parse(text));
  if (!parsed.success) throw new ServiceError('not-found', `${LOCAL_SYSTEM_FILE} is not of this version`);
  return parsed.data;
}
