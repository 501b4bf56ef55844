import type { Profile } from '../../profile.ts';
import { GO_ETHEREUM } from '../../provider/words.ts';

export const rateLimited: Profile = {
  name: 'HTTP 429 without words',
  about: 'Every seventh request is answered by HTTP 429 without a body and without Retry-After.',
  blockTimeMs: 2_000,
  words: GO_ETHEREUM,
  refuses: { every: 7, refusal: { code: 0, message: '', status: 429, body: '' } },
};
