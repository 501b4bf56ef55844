import { z } from 'zod';
import {
  type CommonConfig,
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

type WatcherConfig = CommonConfig & {
  /** Parts of one sweep that may wait for their results: this bound paces a sweep. */
  readonly partsMax: number;
};

/** @throws ServiceError `config-invalid` */
export function loadConfig(env: Environment): WatcherConfig {
  const parsed = loadEnvironment(WatcherEnvironment, env);
  return { ...commonConfig(parsed), partsMax: parsed.WATCH_PARTS_MAX };
}
