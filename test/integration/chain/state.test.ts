import { demoTokens } from '../../../deploy/local/demo/demo-tokens.ts';
import { type RunningChain, startChain } from '../../../deploy/local/infrastructure/chain.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { MULTICALL3_CODE } from '../../support/contracts/multicall3-code.ts';
import { aRule, codesOf, grantedOf } from '../../support/fakes/chain-checks.ts';
import { type FaultKind, startRpcFaultProxy } from '../../support/fakes/rpc-fault-proxy.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';

// Scenario: a chain keeps its block hashes in state (EIP-2935), and its first block is past the 8
// 191 slots of the contract. Checks are read from the state of their block, or not at all.

const HISTORY = '0x0000F90827F1C53a10cb7A02335B175320002935';
const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11';
const FIRST_BLOCK = 20_000;
const account = demoTokens.holder;
let chain: RunningChain;

beforeAll(async () => {
  const [port = 0] = await findFreePorts(1);
  chain = await startChain({ port, args: ['--number', String(FIRST_BLOCK)] });
  await callJsonRpc(chain.rpc, 'anvil_setCode', [MULTICALL3, MULTICALL3_CODE]);
  await callJsonRpc(chain.rpc, 'anvil_mine', ['0x40']);
});
afterAll(() => chain[Symbol.asyncDispose]());

/** A proxy that lets its endpoint be read by the reader contract or by Multicall3. */
async function aProxy(method: 'reader' | 'multicall3', fault: FaultKind = 'none') {
  const scope = new AsyncDisposableStack();
  const inner = scope.use(await startRpcFaultProxy({ target: chain.rpc }));
  await inner.setFault(fault);
  const outer = scope.use(await startRpcFaultProxy({ target: inner.url }));
  await outer.setFault(method === 'reader' ? 'none' : 'no-override');
  return { url: outer.url, [Symbol.asyncDispose]: () => scope.disposeAsync() };
}

describe.each(['reader', 'multicall3'] as const)('read by %s', (method) => {
  test('the state is identified, for new checks and for remembered answers', async () => {
    await using proxy = await aProxy(method);
    await using chains = connectTestChains([{ urls: [proxy.url] }]);
    for (let round = 0; round < 2; round++) {
      const result = await chains.judge({ account, rules: [aRule()] });
      expect(grantedOf(result)).toEqual([true]);
      expect(result.blocks['31337']).toMatchObject({ proved: true, state: true });
    }
  });

  test('the state of a block in the past is identified too', async () => {
    await using proxy = await aProxy(method);
    await using chains = connectTestChains([{ urls: [proxy.url] }]);
    const number = Number(await callJsonRpc(chain.rpc, 'eth_blockNumber', [])) - 20;
    const consistency = { blockTag: 'latest' as const, minBlock: {}, atBlock: { '31337': number } };
    const { blocks } = await chains.judge({ account, rules: [aRule()], consistency });
    expect(blocks['31337']).toMatchObject({ number, state: true });
  });

  test.each(['earlier-state', 'later-state'] as const)(
    'a node that always runs calls over the state of another block decides nothing: %s',
    async (fault) => {
      await using proxy = await aProxy(method, fault);
      await using sound = await aProxy(method);
      // The slots of a chain that has just begun to keep hashes are empty: there a sound endpoint
      // shows that it keeps them.
      await using chains = connectTestChains([{ urls: [proxy.url, sound.url], quorum: 2 }], {
        evaluationMsMax: 5_000,
      });
      await chains.judge({ account, rules: [aRule()] });
      const result = await chains.judge({ account, rules: [aRule()] });
      expect(result.roles).toEqual([]);
      await using alone = connectTestChains([{ urls: [proxy.url] }], { evaluationMsMax: 5_000 });
      if (fault === 'later-state') {
        const { roles, errors } = await alone.judge({ account, rules: [aRule()] });
        expect({ roles, codes: codesOf({ errors }) }).toEqual({ roles: [], codes: ['block-mismatch'] });
      }
    },
  );
});

test('plain calls do not identify the state', async () => {
  await using proxy = await startRpcFaultProxy({ target: chain.rpc });
  await proxy.setFault('plain-calls-only');
  await using chains = connectTestChains([{ urls: [proxy.url] }]);
  const { blocks } = await chains.judge({ account, rules: [aRule()] });
  expect(blocks['31337']).toMatchObject({ proved: false });
  expect(blocks['31337']).not.toHaveProperty('state');
});

test('other code at the address of EIP-2935 says nothing about the state', async () => {
  const code = await callJsonRpc(chain.rpc, 'eth_getCode', [HISTORY, 'latest']);
  await callJsonRpc(chain.rpc, 'anvil_setCode', [HISTORY, `${code}00`]);
  // The endpoint is probed at a block below its head.
  await callJsonRpc(chain.rpc, 'anvil_mine', ['0x20']);
  try {
    await using chains = connectTestChains([{ urls: [chain.rpc] }]);
    const result = await chains.judge({ account, rules: [aRule()] });
    expect(grantedOf(result)).toEqual([true]);
    expect(result.blocks['31337']).toMatchObject({ proved: true });
    expect(result.blocks['31337']).not.toHaveProperty('state');
  } finally {
    await callJsonRpc(chain.rpc, 'anvil_setCode', [HISTORY, code]);
  }
});
