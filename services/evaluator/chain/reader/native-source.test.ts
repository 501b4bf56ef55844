import { failed, type Read, type Reading } from '../../domain/read.ts';
import { NativeSource } from './native-source.ts';
import { NOTHING } from './readings.ts';

const NATIVE = { kind: 'native', account: '0x01' } as Read;
const BALANCE = { kind: 'balance', account: '0x01' } as Read;
const FIVE: Reading = { ok: true, value: 5n };

function makeSource() {
  let plainCount = 0;
  const source = new NativeSource(() => 0);
  const isOther = (reads: Read[], readings: Reading[], plain: Reading, endpoint = '0') =>
    source.isOther(endpoint, reads, readings, async () => {
      plainCount += 1;
      return [plain];
    });
  return { isOther, plainCount: () => plainCount };
}

test.each([
  [FIVE, false],
  [{ ok: true, value: 50_000_000_000n } as const, true],
])(
  'the first native balance above 0 is compared with eth_getBalance, once per endpoint: %j',
  async (plain, expected) => {
    const { isOther, plainCount } = makeSource();
    expect(await isOther([BALANCE, NATIVE], [FIVE, FIVE], plain)).toBe(expected);
    expect(await isOther([NATIVE], [FIVE], FIVE)).toBe(expected);
    expect(plainCount()).toBe(1);
  },
);

test('a balance of 0, a token and a failed read show nothing', async () => {
  const { isOther, plainCount } = makeSource();
  const readings = [NOTHING, FIVE, failed('rpc-timeout')];
  expect(await isOther([NATIVE, BALANCE, NATIVE], readings, FIVE)).toBe(false);
  expect(plainCount()).toBe(0);
});
