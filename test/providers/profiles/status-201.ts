import type { Profile } from '../profile.ts';
import { GO_ETHEREUM } from '../provider/words.ts';

export const status201: Profile = {
  name: 'HTTP 201',
  about: 'Every answer has the status 201.',
  blockTimeMs: 2_000,
  words: GO_ETHEREUM,
  status: 201,
};
