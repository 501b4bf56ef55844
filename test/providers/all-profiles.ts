import type { Profile } from './profile.ts';
import { gzipped } from './profiles/gzipped.ts';
import { capacityLimited } from './profiles/limits/capacity-limited.ts';
import { limitedBatch } from './profiles/limits/limited-batch.ts';
import { limitedByData } from './profiles/limits/limited-by-data.ts';
import { limitedRange } from './profiles/limits/limited-range.ts';
import { rateLimited } from './profiles/limits/rate-limited.ts';
import { singleCalls } from './profiles/limits/single-calls.ts';
import { usedUpMonth } from './profiles/limits/used-up-month.ts';
import { missingTags } from './profiles/missing-tags.ts';
import { nullLogs } from './profiles/null-logs.ts';
import { otherBlockhash } from './profiles/other-blockhash.ts';
import { otherState } from './profiles/other-state.ts';
import { avalanchePool } from './profiles/pools/avalanche-pool.ts';
import { erigonPool } from './profiles/pools/erigon-pool.ts';
import { latePool } from './profiles/pools/late-pool.ts';
import { nitroPool } from './profiles/pools/nitro-pool.ts';
import { unheardOfPool } from './profiles/pools/unheard-of-pool.ts';
import { status201 } from './profiles/status-201.ts';
import { unindexedState } from './profiles/unindexed-state.ts';

export const PROFILES: readonly Profile[] = [
  avalanchePool,
  capacityLimited,
  erigonPool,
  gzipped,
  latePool,
  limitedBatch,
  limitedByData,
  limitedRange,
  missingTags,
  nitroPool,
  nullLogs,
  otherBlockhash,
  otherState,
  rateLimited,
  singleCalls,
  status201,
  unheardOfPool,
  unindexedState,
  usedUpMonth,
];
