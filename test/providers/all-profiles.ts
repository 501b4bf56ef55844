import type { Profile } from './profile.ts';
import { avalanchePool } from './profiles/avalanche-pool.ts';
import { capacityLimited } from './profiles/capacity-limited.ts';
import { erigonPool } from './profiles/erigon-pool.ts';
import { gzipped } from './profiles/gzipped.ts';
import { latePool } from './profiles/late-pool.ts';
import { limitedBatch } from './profiles/limited-batch.ts';
import { limitedByData } from './profiles/limited-by-data.ts';
import { limitedRange } from './profiles/limited-range.ts';
import { missingTags } from './profiles/missing-tags.ts';
import { nitroPool } from './profiles/nitro-pool.ts';
import { nullLogs } from './profiles/null-logs.ts';
import { otherBlockhash } from './profiles/other-blockhash.ts';
import { otherState } from './profiles/other-state.ts';
import { rateLimited } from './profiles/rate-limited.ts';
import { singleCalls } from './profiles/single-calls.ts';
import { status201 } from './profiles/status-201.ts';
import { unheardOfPool } from './profiles/unheard-of-pool.ts';
import { unindexedState } from './profiles/unindexed-state.ts';
import { usedUpMonth } from './profiles/used-up-month.ts';

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
