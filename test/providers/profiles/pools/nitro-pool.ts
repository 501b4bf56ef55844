import type { Profile } from '../../profile.ts';
import { NITRO } from '../../provider/words.ts';

export const nitroPool: Profile = {
  name: 'pool of Nitro',
  about: 'Blocks of 250 ms; logs up to 2 s late without an error; the calls of a batch go to several nodes.',
  blockTimeMs: 250,
  words: NITRO,
  nodes: [
    { headsMs: 0, callsMs: 300, logsMs: 2_000 },
    { headsMs: 250, callsMs: 1_000, logsMs: 0 },
    { headsMs: 600, callsMs: 0, logsMs: 1_500 },
  ],
  spreadsBatches: true,
};
