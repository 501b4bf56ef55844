import type { Profile } from '../profile.ts';
import { GO_ETHEREUM } from '../provider/words.ts';

export const unindexedState: Profile = {
  name: 'state not indexed',
  about: 'go-ethereum 1.17 with an archive whose state histories are still being indexed (`triedb/pathdb`).',
  blockTimeMs: 12_000,
  words: {
    ...GO_ETHEREUM,
    prunedState: { code: -32_000, message: "state histories haven't been fully indexed yet" },
  },
  stateBlocks: 128,
};
