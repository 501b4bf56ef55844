import { toChecksumAddress } from '#shared/contracts/rules/checksum-address.ts';
import { FairTicks, makeGiveWay } from '#shared/fairness/fair-ticks.ts';
import { receiveMembers } from './receive-members.ts';

const accountOf = (index: number): string => `0x${(index + 1).toString(16).padStart(40, '0')}`;
const ndjson = (values: readonly unknown[]): string =>
  values.map((value) => JSON.stringify(value)).join('\n');

/** A body as it arrives. */
async function* chunksOf(text: string): AsyncGenerator<Buffer, void> {
  yield Buffer.from(text);
}
const ticks = new FairTicks({ msPerTick: 2 });
const OWNER = { accountId: 'account_1', clientId: 'app_1' };
const receive = (format: 'json' | 'ndjson', text: string) =>
  receiveMembers(format, { chunks: chunksOf(text), giveWay: makeGiveWay(() => ticks.turn(OWNER)) });
const refusalOf = (format: 'json' | 'ndjson', text: string) =>
  receive(format, text).then(
    () => undefined,
    ({ status, code, members }) => ({ status, code, pointer: members.errors?.[0]?.pointer }),
  );

describe('the members of a request', () => {
  it('are equal as JSON and as NDJSON', async () => {
    const add = [accountOf(0), { accounts: [accountOf(1), accountOf(2)], ref: 'discord:42' }];
    const remove = ['discord:43', accountOf(3)];
    const lines = [...add.map((one) => ({ add: one })), ...remove.map((one) => ({ remove: one }))];
    const expected = await receive('json', JSON.stringify({ add, remove }));
    expect(expected.remove).toEqual(remove);
    expect(expected.add.map(({ ref }) => ref)).toEqual([undefined, 'discord:42']);
    expect(await receive('ndjson', ndjson(lines))).toEqual(expected);
    expect(await receive('ndjson', `${ndjson(lines)}\r\n`)).toEqual(expected);
  });

  it('may have a byte-order mark, CRLF and blank lines', async () => {
    const add = [accountOf(0), accountOf(1)];
    const text = ndjson(add.map((one) => ({ add: one }))).replaceAll('\n', '\r\n\r\n');
    const expected = await receive('json', JSON.stringify({ add }));
    expect(await receive('ndjson', `\ufeff${text}\r\n\r\n`)).toEqual(expected);
    expect(await receive('json', `\ufeff${JSON.stringify({ add })}\r\n`)).toEqual(expected);
  });

  it('are in JSON those of the last of two lists of one name, both of which must be JSON', async () => {
    const [first, last] = [accountOf(0), accountOf(1)];
    const expected = await receive('json', JSON.stringify({ add: [last] }));
    for (const name of ['add', '\\u0061dd'])
      expect(await receive('json', `{"add":["${first}"],"${name}":["${last}"]}`)).toEqual(expected);
    expect(await refusalOf('json', `{"add":[nonsense],"add":["${last}"]}`)).toMatchObject({
      status: 400,
      code: 'malformed-json',
    });
  });

  it.each(['json', 'ndjson'] as const)(
    'are read as %s in steps, between which other work runs',
    async (format) => {
      const accounts = Array.from({ length: 10_000 }, (_, index) =>
        toChecksumAddress(`0x${format === 'json' ? 'ab' : 'cd'}${String(index).padStart(38, 'e')}`),
      );
      const text =
        format === 'json' ? JSON.stringify({ add: accounts }) : ndjson(accounts.map((add) => ({ add })));
      let turnCount = 0;
      let isOver = false;
      const turn = (): void => {
        turnCount += 1;
        if (!isOver) setImmediate(turn);
      };
      const received = receive(format, text);
      setImmediate(turn);
      expect((await received).add).toHaveLength(accounts.length);
      isOver = true;
      // Ten thousand checksums take tens of milliseconds, and a slice ends after two.
      expect(turnCount).toBeGreaterThan(1);
    },
  );

  it.each([
    ['json', JSON.stringify({ add: ['x'.repeat(2 * 1024 * 1024)] }), 413, 'body-too-large', undefined],
    [
      'json',
      JSON.stringify({ add: [Object.fromEntries(Array.from({ length: 150_000 }, (_, i) => [`m${i}`, 0]))] }),
      ...[422, 'validation-failed', ''],
    ],
    ['ndjson', '', 400, 'malformed-json', undefined],
    ['json', '', 400, 'malformed-json', undefined],
    ['ndjson', '\ufeff\r\n\r\n', 400, 'malformed-json', undefined],
    [
      'ndjson',
      `\n{"add":"${accountOf(0)}"}\n\n{"add":{"account":"x"}}`,
      ...[422, 'validation-failed', '/1/add/account'],
    ],
    [
      'ndjson',
      `{"add":"${accountOf(0)}"}\n{"add":{"account":"x"}}`,
      422,
      'validation-failed',
      '/1/add/account',
    ],
    [
      'json',
      JSON.stringify({ add: [accountOf(0), 'vitalik.eth'] }),
      422,
      'account-format-unsupported',
      '/add/1',
    ],
    [
      'json',
      JSON.stringify({ remove: Array.from({ length: 10_001 }, (_, index) => `u${index}`) }),
      422,
      'too-many-entries',
      '/remove/10000',
    ],
    [
      'json',
      JSON.stringify({ add: [accountOf(0)], remove: [accountOf(0)] }),
      422,
      'validation-failed',
      '/remove/0',
    ],
    ['json', JSON.stringify({ add: [{ accounts: [accountOf(0)] }] }), 422, 'validation-failed', '/add/0/ref'],
  ] as const)('as %s are refused: %#', async (format, text, status, code, pointer) => {
    expect(await refusalOf(format, text)).toEqual({ status, code, pointer });
  });
});
