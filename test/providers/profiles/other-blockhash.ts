import type { Profile } from '../profile.ts';
import { ERIGON } from '../provider/words.ts';

export const otherBlockhash: Profile = {
  name: 'BLOCKHASH is a state root',
  about: 'Chains of CDK-erigon: BLOCKHASH in the EVM is the state root of the block (`opBlockhash_zkevm`).',
  blockTimeMs: 2_000,
  words: ERIGON,
  blockhash: 'state-root',
};
