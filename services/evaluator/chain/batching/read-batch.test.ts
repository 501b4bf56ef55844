import { agreeOn } from '../../domain/agree.ts';
import { failed, type Reading } from '../../domain/read.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { type BatchReadings, PERHAPS_OUT_OF_GAS } from '../reader/readings.ts';
import { type FailureKind, RpcFailure } from '../rpc/rpc-failure.ts';
import type { Batch, Entry } from './entry.ts';
import { makeBatchReader } from './read-batch.ts';

const FIVE: Reading = { ok: true, value: 5n };

/** The answers of each endpoint to a batch of two reads, one per call. */
async function readBatch(answers: readonly (BatchReadings | FailureKind)[], quorum: number) {
  const endpoints = answers.map((_, index) => ({ name: String(index) }) as Endpoint);
  const perform = makeBatchReader({
    ...{ candidates: () => endpoints, quorum, agreeOn },
    hedgeAfterMs: () => undefined,
    readyInMs: () => undefined,
    whyNoCandidate: () => 'breaker-open',
    onHedge: () => undefined,
    onBatch: () => undefined,
    readFrom: async ({ name }) => {
      const says = answers[Number(name)] ?? [];
      if (typeof says === 'string') throw new RpcFailure(says);
      return { readings: says, isProved: true };
    },
  });
  const entries = ['a', 'b'].map((key) => ({ read: { key }, isIsolated: false }) as Entry);
  await perform({ entries, isIsolated: false, controller: new AbortController() } as unknown as Batch);
  return { entries, observations: entries.map(({ observation }) => observation) };
}

test('a suspect read stays open, with the failure that it gets if it is not read alone', async () => {
  const { entries } = await readBatch([[FIVE, PERHAPS_OUT_OF_GAS]], 1);
  expect(entries.map(({ observation, suspected }) => ({ observation, suspected }))).toEqual([
    { observation: [FIVE], suspected: undefined },
    { observation: undefined, suspected: [failed('not-read-alone')] },
  ]);
});

test('a read that ran out of gas at one endpoint is retried if other reads succeeded there', async () => {
  expect((await readBatch([[FIVE, undefined]], 1)).observations).toEqual([[FIVE], undefined]);
});

test('an endpoint without answers does not delay a read that the others agree on', async () => {
  const answers = [
    [undefined, undefined],
    [FIVE, FIVE],
    [FIVE, FIVE],
  ];
  expect((await readBatch(answers, 2)).observations).toEqual([
    [FIVE, FIVE],
    [FIVE, FIVE],
  ]);
});

test('a read that no endpoint answers ends', async () => {
  expect((await readBatch([[undefined, undefined]], 1)).observations).toEqual([
    [failed('not-read-alone')],
    [failed('not-read-alone')],
  ]);
});

test('a block that fewer endpoints have than the quorum is gone, even if one still has it', async () => {
  const gone = [failed('block-unavailable')];
  expect((await readBatch([[FIVE, FIVE], 'block-unavailable', 'block-unavailable'], 2)).observations).toEqual(
    [gone, gone],
  );
  expect((await readBatch([[FIVE, FIVE], [FIVE, FIVE], 'block-unavailable'], 2)).observations).toEqual([
    [FIVE, FIVE],
    [FIVE, FIVE],
  ]);
});
