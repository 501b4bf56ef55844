import type { Profile } from '../../profile.ts';
import { GO_ETHEREUM } from '../../provider/words.ts';

export const capacityLimited: Profile = {
  name: 'code 429',
  about: 'Every seventh request is the error 429 with HTTP 200, in the words of a used-up month at Alchemy.',
  blockTimeMs: 250,
  words: GO_ETHEREUM,
  refuses: { every: 7, refusal: { code: 429, message: 'Monthly capacity limit exceeded.' } },
};
