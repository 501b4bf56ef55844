import { z } from 'zod';
import {
  commonConfig,
  commonEnvironment,
  type Environment,
  integer,
  loadEnvironment,
} from '#shared/config.ts';

const ResultStoreEnvironment = z.object({
  ...commonEnvironment,
  RESULT_STORE_WINDOW: integer({ min: 1, max: 10_000, default: 512 }),
});

/** @throws ServiceError `config-invalid` */
export function loadConfig(env: Environment) {
  const parsed = loadEnvironment(ResultStoreEnvironment, env);
  return {
    ...commonConfig(parsed),
    /** Results being saved at once. */
    window: parsed.RESULT_STORE_WINDOW,
  };
}
