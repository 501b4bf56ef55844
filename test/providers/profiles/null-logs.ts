import type { Profile } from '../profile.ts';
import { NITRO } from '../provider/words.ts';

export const nullLogs: Profile = {
  name: 'null for no logs',
  about: '`null` in place of an empty list of logs, also from a node that is 1.5 s late.',
  blockTimeMs: 250,
  words: { ...NITRO, logsAtUnknownHash: 'none' },
  nodes: [
    { headsMs: 0, callsMs: 0, logsMs: 0 },
    { headsMs: 0, callsMs: 0, logsMs: 1_500 },
  ],
  nullForNoLogs: true,
};
