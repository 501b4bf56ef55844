import { describeUndetermined } from '#shared/contracts/checks/result.ts';
import { agree, agreeOn, withOwnMinBlock } from './agree.ts';
import { ABSENT, DECIDING_REVERT, failed, type Read, type Reading } from './read.ts';

const five: Reading = { ok: true, value: 5n };
const six: Reading = { ok: true, value: 6n };
const reverted = failed('call-reverted');
const missing = failed('contract-not-found');
const timeout = failed('rpc-timeout');
const refused = failed('rpc-unavailable');
const disagreement = failed('rpc-disagreement');

// The whole table for one and for two equal answers wanted: every combination of up to three
// readings.
test.each<[string, Reading[], number, Reading]>([
  ['one answer decides where one is wanted', [five], 1, five],
  ['a failure of the contract is an answer', [reverted], 1, reverted],
  ['a transport failure is reported as it is', [timeout], 1, timeout],
  ['the last of several failures counts', [timeout, refused], 1, refused],
  ['an answer outweighs transport failures', [timeout, five], 1, five],
  ['two answers that differ decide nothing, even where one is wanted', [five, six], 1, disagreement],
  ['one answer is too few where two are wanted', [five], 2, disagreement],
  ['no answer at all is not a disagreement', [timeout, refused], 2, refused],
  ['two equal answers decide', [five, five], 2, five],
  ['two equal failures of the contract decide', [reverted, reverted], 2, reverted],
  ['two answers that differ decide nothing', [five, six], 2, disagreement],
  ['a value and a revert differ', [five, reverted], 2, disagreement],
  ['a liar is outvoted', [six, five, five], 2, five],
  ['a liar is outvoted in any order of answers', [five, six, five], 2, five],
  ['an answer and a transport failure are too few', [five, timeout], 2, disagreement],
  ['the quorum is reached in spite of a transport failure', [five, timeout, five], 2, five],
  ['three that all differ decide nothing', [five, six, reverted], 2, disagreement],
  ['two pairs decide nothing', [five, six, five, six], 2, disagreement],
  ['revert data count where one endpoint is asked', [DECIDING_REVERT], 1, DECIDING_REVERT],
  [
    'revert data count from as many endpoints as the quorum',
    [DECIDING_REVERT, DECIDING_REVERT],
    2,
    DECIDING_REVERT,
  ],
  ['revert data of too few endpoints do not count', [DECIDING_REVERT, reverted], 2, reverted],
  [
    'revert data count beside an endpoint that hides them',
    [reverted, DECIDING_REVERT, DECIDING_REVERT],
    2,
    DECIDING_REVERT,
  ],
  ['that there is no contract counts as shown where one endpoint is asked', [ABSENT], 1, ABSENT],
  ['it counts as shown by as many endpoints as the quorum', [missing, ABSENT, ABSENT], 2, ABSENT],
  ['it is not shown by too few endpoints', [missing, ABSENT], 2, missing],
  ['revert data and a value differ', [DECIDING_REVERT, five], 2, disagreement],
  ['revert data and a transport failure are too few', [DECIDING_REVERT, timeout], 2, disagreement],
])('%s', (_, observation, quorum, expected) => {
  expect(agreeOn(observation, quorum)).toEqual(expected);
});

test('every read of every chain is folded with the quorum of its chain', () => {
  const [a, b, c] = [{ key: '1/a' } as Read, { key: '2/b' } as Read, { key: '2/c' } as Read];
  const folded = agree(
    new Map([
      [1, [a]],
      [2, [b, c]],
    ]),
    new Map([
      [1, { quorum: 1, observations: [[five]] }],
      [
        2,
        {
          quorum: 2,
          observations: [
            [five, six],
            [six, six],
          ],
        },
      ],
    ]),
  );
  expect([a, b, c].map((read) => folded.get(read))).toEqual([five, disagreement, six]);
});

test('a minimum block that is too far ahead may be retried by a watch, which has set it, and not by a client', () => {
  const read: Read = { kind: 'native', chainId: 1, account: `0x${'11'.repeat(20)}` } as unknown as Read;
  const isRetryable = (reading: Reading | undefined) =>
    reading !== undefined && !reading.ok && describeUndetermined(reading).retryable;
  const readings = new Map([[read, failed('block-too-far-ahead')]]);
  expect([isRetryable(readings.get(read)), isRetryable(withOwnMinBlock(readings).get(read))]).toEqual([
    false,
    true,
  ]);
});
