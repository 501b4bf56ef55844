import { z } from 'zod';
import {
  type CommonConfig,
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

type ResultStoreConfig = CommonConfig & {
  /** Results being saved at once. */
  readonly window: number;
};

/** @throws ServiceError `config-invalid` */
export function loadConfig(env: Environment): ResultStoreConfig {
  const parsed = loadEnvironment(ResultStoreEnvironment, env);
  return { ...commonConfig(parsed), window: parsed.RESULT_STORE_WINDOW };
}
