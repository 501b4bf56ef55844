import type { Profile } from '../../profile.ts';
import { UNHEARD_OF } from '../../provider/words.ts';

export const unheardOfPool: Profile = {
  name: 'pool, unheard-of words',
  about: 'Three nodes up to 2 s late that say so in words and codes that nobody has listed.',
  blockTimeMs: 250,
  words: UNHEARD_OF,
  nodes: [
    { headsMs: 0, callsMs: 1_000, logsMs: 2_000 },
    { headsMs: 400, callsMs: 0, logsMs: 800 },
    { headsMs: 900, callsMs: 500, logsMs: 0 },
  ],
  lacksTags: true,
  stateBlocks: 128,
};
