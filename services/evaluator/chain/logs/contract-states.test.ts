import { type ContractState, ContractStates, LIVE, sweepsOnly } from './contract-states.ts';

function aRecord() {
  const written: string[] = [];
  let nowMs = 0;
  const write = async (contract: string, { state }: ContractState) =>
    void written.push(`${contract} ${state}`);
  const states = new ContractStates(write, () => nowMs);
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { states, written, pass };
}

test('writes a state when it changes', async () => {
  const { states, written } = aRecord();
  await states.set(['a', 'b'], LIVE);
  await states.set(['a', 'b'], LIVE);
  await states.set(['b'], sweepsOnly('No endpoint answers.'));
  expect(written).toEqual(['a live', 'b live', 'b sweeps-only']);
});

test('writes an unchanged state again after 20 s, because a contract that was not followed for a moment has lost it', async () => {
  const { states, written, pass } = aRecord();
  await states.set(['a'], LIVE);
  pass(19_999);
  await states.set(['a'], LIVE);
  pass(1);
  await states.set(['a'], LIVE);
  expect(written).toEqual(['a live', 'a live']);
});
