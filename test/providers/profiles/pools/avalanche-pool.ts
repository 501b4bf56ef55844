import type { Profile } from '../../profile.ts';
import { AVALANCHE } from '../../provider/words.ts';

export const avalanchePool: Profile = {
  name: 'pool of Avalanche',
  about: 'coreth answers a block past its head by an error, not by null; two nodes, one 1 s late.',
  blockTimeMs: 2_000,
  words: AVALANCHE,
  nodes: [
    { headsMs: 0, callsMs: 0, logsMs: 0 },
    { headsMs: 1_000, callsMs: 1_000, logsMs: 1_000 },
  ],
};
