import type { Profile } from '../profile.ts';
import { GO_ETHEREUM } from '../provider/words.ts';

export const gzipped: Profile = {
  name: 'gzip',
  about: 'Every answer is compressed, although the client did not ask for it.',
  blockTimeMs: 12_000,
  words: GO_ETHEREUM,
  isGzipped: true,
};
