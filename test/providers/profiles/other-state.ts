import type { Profile } from '../profile.ts';
import { GO_ETHEREUM } from '../provider/words.ts';

export const otherState: Profile = {
  name: 'state of another block',
  about: 'One of two nodes runs calls in the context of the named block over the newest state.',
  blockTimeMs: 250,
  words: GO_ETHEREUM,
  nodes: [
    { headsMs: 1_500, callsMs: 0, logsMs: 0 },
    { headsMs: 1_500, callsMs: 0, logsMs: 0 },
  ],
  newestStateNodes: [1],
};
