import type { Profile } from '../../profile.ts';
import { GO_ETHEREUM } from '../../provider/words.ts';

export const limitedByData: Profile = {
  name: 'limits in error.data',
  about: 'Log ranges of 5 blocks and batches of 2 calls; only the data of the error has the reason.',
  blockTimeMs: 2_000,
  words: GO_ETHEREUM,
  logBlocks: {
    max: 5,
    refusal: { code: -32_603, message: 'Internal error', data: { hint: 'five blocks are a basket' } },
  },
  batch: {
    max: 2,
    refusal: { code: -32_603, message: 'Internal error', data: { hint: 'two letters fit the envelope' } },
  },
};
