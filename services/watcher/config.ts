import { z } from 'zod';
import {
  commonConfig,
  commonEnvironment,
  type Environment,
  integer,
  loadEnvironment,
} from '#shared/config.ts';

const WatcherEnvironment = z.object({
  ...commonEnvironment,
  WATCH_PARTS_MAX: integer({ min: 1, max: 1_000, default: 16 }),
});

/** @throws ServiceError `config-invalid` */
export function loadConfig(env: Environment) {
  const parsed = loadEnvironment(WatcherEnvironment, env);
  return {
    ...commonConfig(parsed),
    /** Parts of one sweep that may wait for their results: this bound paces a sweep. */
    partsMax: parsed.WATCH_PARTS_MAX,
  };
}
