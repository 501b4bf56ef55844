import type { Profile } from '../profile.ts';
import { GO_ETHEREUM } from '../provider/words.ts';

/** One go-ethereum that is never late: the measure of every other profile with its block time. */
export const healthy = (blockTimeMs: Profile['blockTimeMs']): Profile => ({
  name: `healthy, ${blockTimeMs} ms`,
  about: 'One node of go-ethereum that is never late.',
  blockTimeMs,
  words: GO_ETHEREUM,
});
