import type { Profile } from '../../profile.ts';
import { GO_ETHEREUM } from '../../provider/words.ts';

export const limitedRange: Profile = {
  name: 'log ranges limited',
  about: 'At most 20 blocks of logs at a time, refused in words that nobody has listed.',
  blockTimeMs: 250,
  words: GO_ETHEREUM,
  logBlocks: { max: 20, refusal: { code: -38_770, message: 'your basket does not hold that many eggs' } },
};
