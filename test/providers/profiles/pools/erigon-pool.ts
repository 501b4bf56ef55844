import type { Profile } from '../../profile.ts';
import { ERIGON } from '../../provider/words.ts';

export const erigonPool: Profile = {
  name: 'pool of Erigon',
  about: 'Blocks of 12 s; Erigon names the unknown hash; logs 2 s late without an error; tags not there yet.',
  blockTimeMs: 12_000,
  words: ERIGON,
  nodes: [
    { headsMs: 0, callsMs: 1_500, logsMs: 2_000 },
    { headsMs: 800, callsMs: 0, logsMs: 500 },
  ],
  lacksTags: true,
};
