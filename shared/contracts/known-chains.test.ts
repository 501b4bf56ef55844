import { KNOWN_CHAINS, knownChain, parseChainFile } from './chain-file.ts';

test('every chain is named once, by a usable id, name, symbol and block time', () => {
  expect(new Set(KNOWN_CHAINS.map(({ chainId }) => chainId)).size).toBe(KNOWN_CHAINS.length);
  expect(new Set(KNOWN_CHAINS.map(({ name }) => name)).size).toBe(KNOWN_CHAINS.length);
  for (const { chainId, name, nativeSymbol, nativeDecimals, blockTimeMs } of KNOWN_CHAINS) {
    expect(Number.isSafeInteger(chainId) && chainId > 0).toBe(true);
    expect(name.length * nativeSymbol.length).toBeGreaterThan(0);
    expect(nativeDecimals).toBe(18);
    expect(blockTimeMs).toBeGreaterThanOrEqual(100);
    expect(blockTimeMs).toBeLessThanOrEqual(15_000);
  }
});

test('a chain is found by its id, and an unknown one is not', () => {
  expect(knownChain(1)?.name).toBe('Ethereum');
  expect(knownChain(31_337)).toBeUndefined();
});

test('a known chain needs only URLs in the chain file, and the chain file overrides the known values', () => {
  const aChain = (over: object) => ({
    name: 'X',
    nativeSymbol: 'X',
    endpoints: [{ url: 'http://rpc' }],
    ...over,
  });
  const { chains } = parseChainFile(
    JSON.stringify({
      chains: [
        aChain({ chainId: 42_161 }),
        aChain({ chainId: 10, blockTimeMs: 1_500 }),
        aChain({ chainId: 7 }),
      ],
    }),
    {},
  );
  expect(chains.map(({ blockTimeMs }) => blockTimeMs)).toEqual([250, 1_500, undefined]);
});
