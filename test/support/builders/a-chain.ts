import type { ChainSettings } from '#shared/contracts/chain-file.ts';

/** A configured chain, for unit tests. Its endpoint's address has a secret. */
export const aChain = (over: Partial<ChainSettings> = {}): ChainSettings => ({
  chainId: 1,
  name: 'Ethereum',
  nativeSymbol: 'ETH',
  nativeDecimals: 18,
  delegateRegistry: `0x${'0'.repeat(40)}`,
  blockTimeMs: 12_000,
  quorum: 1,
  endpoints: [{ url: 'https://rpc.example/SECRET', headers: {} }],
  ...over,
});
