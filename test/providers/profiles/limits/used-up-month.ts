import type { Profile } from '../../profile.ts';
import { GO_ETHEREUM } from '../../provider/words.ts';

export const usedUpMonth: Profile = {
  name: 'used-up month',
  about: 'After 20 requests each one is refused for good, in words that nobody has listed.',
  blockTimeMs: 2_000,
  words: GO_ETHEREUM,
  refuses: { after: 20, refusal: { code: -38_772, message: 'your ticket was for another month' } },
  isUsedUp: true,
};
