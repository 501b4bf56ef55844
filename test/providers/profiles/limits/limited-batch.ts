import type { Profile } from '../../profile.ts';
import { UNHEARD_OF } from '../../provider/words.ts';

export const limitedBatch: Profile = {
  name: 'batches limited',
  about: 'At most 3 calls in a batch, refused with HTTP 413 in words that nobody has listed.',
  blockTimeMs: 250,
  words: UNHEARD_OF,
  batch: { max: 3, refusal: { code: -38_771, message: 'the envelope is too thick', status: 413 } },
};
