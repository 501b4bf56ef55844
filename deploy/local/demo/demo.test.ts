import { showDemo } from './demo.ts';

const app = { clientId: 'app_1', apiKey: 'key', webhookSecret: 'whsec_' };
const tokens = { erc20: '0x1', erc20Decimals: 6, erc721: '0x2', erc1155: '0x3' };
const chain = { chainId: 31_337, rpc: '', ...tokens, holder: '0x4', stranger: '0x5' };

/** None of these cases runs the demo, which needs a gateway. */
async function show(named: typeof chain | null, options: { demo: boolean; once: boolean }) {
  const said: string[] = [];
  const signal = AbortSignal.abort();
  const isWell = await showDemo(
    { gateways: [], app, chain: named },
    options,
    (line) => said.push(line),
    signal,
  );
  return { isWell, said };
}

test.each([true, false])(
  'with --once and a chain file without the demo chain it says so and fails, demo: %s',
  async (demo) => {
    const { isWell, said } = await show(null, { demo, once: true });
    expect(isWell).toBe(false);
    expect(said).toEqual(['no demo: the chain file does not name the demo chain (31337)']);
  },
);

test('with --no-demo alone it says nothing, whatever the chain file names', async () => {
  for (const named of [null, chain])
    expect(await show(named, { demo: false, once: false })).toEqual({ isWell: true, said: [] });
});

test('with --once and --no-demo it is well if the demo chain is there', async () => {
  expect(await show(chain, { demo: false, once: true })).toEqual({ isWell: true, said: [] });
});
