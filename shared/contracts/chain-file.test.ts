import { parseChainFile } from './chain-file.ts';

test('a well-known chain needs no block time in the chain file, and the chain file overrides it', () => {
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
