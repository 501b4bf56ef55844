import { parseChainFile } from '#shared/contracts/chain-file.ts';
import { checkChains } from './check-chains.ts';

test('a name that the environment lacks is a problem of its endpoint, or of each endpoint of its chain', async () => {
  const chain = (name: string, urls: readonly string[]) => ({
    ...{ name, nativeSymbol: 'ETH' },
    endpoints: urls.map((url) => ({ url })),
  });
  const chains = [
    { chainId: 1, ...chain('Ethereum', ['https://rpc.example/${KEY}']) },
    { chainId: 10, ...chain('${NAME}', ['https://a.example', 'https://b.example']) },
  ];
  const missing: { pointer: string; name: string }[] = [];
  const noteMissing = (pointer: string, name: string) => missing.push({ pointer, name });
  const file = parseChainFile(JSON.stringify({ chains }), {}, { noteMissing });
  const reports = await checkChains(file, { timeoutMs: 1_000, missing });
  const ofChain = ['/chains/1/name: the environment has no NAME: set it.'];
  expect(reports.map(({ chainId, endpoint, problems }) => [chainId, endpoint, problems])).toEqual([
    [1, 0, ['/chains/0/endpoints/0/url: the environment has no KEY: set it.']],
    [10, 0, ofChain],
    [10, 1, ofChain],
  ]);
});
