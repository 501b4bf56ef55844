import { limitedRange, missingTags, nitroPool, otherState } from '../all-profiles.ts';
import type { NodeLag, Profile } from '../profile.ts';
import { answerCall } from './answer-call.ts';
import { GO_ETHEREUM, NITRO } from './words.ts';

// Scenario: a chain of 300 blocks, one a second; the node has those that came early enough for its
// lag.

const hashOf = (number: number) => `0x${number.toString(16).padStart(64, '0')}`;
const block = (number: number) => ({
  ...{ number, hash: hashOf(number), stateRoot: hashOf(number), timestamp: number },
  minedMs: 0,
});
const chain = {
  newest: () => block(300),
  newestAt: (lagMs: number) => block(300 - lagMs / 1_000),
  byHash: (hash: string) => block(Number(hash)),
  byNumber: block,
};
const LAG: NodeLag = { headsMs: 0, callsMs: 1_000, logsMs: 2_000 };

function ask(profile: Profile, method: string, params: readonly unknown[], runsNewestState = false) {
  const node = {
    ...{ profile, chain, chainId: 1, lag: LAG, runsNewestState },
    ask: async (...call: unknown[]) => ({ result: call }),
  };
  return answerCall(node, { id: 1, method, params });
}

test('a node refuses a call at a block that it does not have yet, in its words', async () => {
  const at = (number: number) => ask(nitroPool, 'eth_call', [{}, { blockHash: hashOf(number) }]);
  expect(await at(300)).toEqual({ refusal: NITRO.unknownHash });
  expect(await at(299)).toHaveProperty('result');
});

test('a late node of Nitro returns fewer logs, and one of go-ethereum refuses', async () => {
  const filter = { fromBlock: '0x1', toBlock: '0x12c' };
  expect(await ask(nitroPool, 'eth_getLogs', [filter])).toEqual({
    result: ['eth_getLogs', [{ ...filter, toBlock: '0x12a' }]],
  });
  expect(await ask(missingTags, 'eth_getLogs', [filter])).toEqual({ refusal: GO_ETHEREUM.logsPastHead });
});

test('a range of logs beyond the limit is refused, and one within it is not', async () => {
  const read = (fromBlock: string) => ask(limitedRange, 'eth_getLogs', [{ fromBlock, toBlock: '0x64' }]);
  expect(await read('0x50')).toEqual({ refusal: limitedRange.logBlocks?.refusal });
  expect(await read('0x51')).toHaveProperty('result');
});

test('pruned blocks, their states and missing tags are refused', async () => {
  const refusals = [
    await ask(missingTags, 'eth_getBlockByNumber', ['0x5', false]),
    await ask(missingTags, 'eth_getBalance', ['0x', '0x5']),
    await ask(missingTags, 'eth_getBlockByNumber', ['safe', false]),
  ];
  expect(refusals.map((answer) => 'refusal' in answer && answer.refusal.code)).toEqual([
    4_444, -32_000, -32_602,
  ]);
});

test('a node of another state runs the call over the newest state, in the context of the named block', async () => {
  const { result } = (await ask(otherState, 'eth_call', [{}, '0x64'], true)) as { result: unknown };
  expect(result).toEqual(['eth_call', [{}, '0x12c', {}, { number: '0x64', time: '0x64' }]]);
});
