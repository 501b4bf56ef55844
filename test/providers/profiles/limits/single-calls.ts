import type { Profile } from '../../profile.ts';
import { GO_ETHEREUM } from '../../provider/words.ts';

export const singleCalls: Profile = {
  name: 'single calls only',
  about: 'Arrays are refused, as by proxies that parse one object.',
  blockTimeMs: 2_000,
  words: GO_ETHEREUM,
  batch: { max: 0, refusal: { code: -32_600, message: 'Invalid Request' } },
};
