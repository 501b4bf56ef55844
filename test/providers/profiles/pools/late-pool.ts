import type { Profile } from '../../profile.ts';
import { GO_ETHEREUM } from '../../provider/words.ts';

export const latePool: Profile = {
  name: 'pool of go-ethereum',
  about: 'Three nodes behind one URL, up to 2 s late with heads, calls and logs, each in another order.',
  blockTimeMs: 2_000,
  words: GO_ETHEREUM,
  nodes: [
    { headsMs: 0, callsMs: 1_200, logsMs: 600 },
    { headsMs: 500, callsMs: 0, logsMs: 2_000 },
    { headsMs: 1_900, callsMs: 700, logsMs: 1_300 },
  ],
};
