import type { Profile } from '../profile.ts';
import { GO_ETHEREUM } from '../words.ts';

export const missingTags: Profile = {
  name: 'no tags, pruned',
  about: 'A fork of an old go-ethereum: `safe` and `finalized` are no tags, and states end at 128 blocks.',
  blockTimeMs: 2_000,
  words: {
    ...GO_ETHEREUM,
    missingTag: { code: -32_602, message: 'invalid argument 0: hex string without 0x prefix' },
  },
  lacksTags: true,
  stateBlocks: 128,
};
