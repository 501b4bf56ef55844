import type { Profile } from '../profile.ts';
import { GO_ETHEREUM } from '../provider/words.ts';

export const missingTags: Profile = {
  name: 'no tags, pruned',
  about:
    '`safe` and `finalized` are not tags, as in old go-ethereums; older blocks are pruned, in the words of 1.17.',
  blockTimeMs: 2_000,
  words: {
    ...GO_ETHEREUM,
    missingTag: { code: -32_602, message: 'invalid argument 0: hex string without 0x prefix' },
    prunedBlock: { code: 4_444, message: 'pruned history unavailable' },
  },
  lacksTags: true,
  stateBlocks: 128,
};
