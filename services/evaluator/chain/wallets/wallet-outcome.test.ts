import { failed } from '../../domain/read.ts';
import { faultOfSignIn, PROVED, REFUSED, UNREAD, type WalletOutcome } from './wallet-outcome.ts';

const OUT_OF_GAS: WalletOutcome = failed('wallet-gas-exhausted');
const wallets = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    account: `0x${String(index).repeat(40)}`,
    chainId: index + 1,
    hash: `0x${'0'.repeat(64)}`,
    signature: '0x',
  }));
const faultOf = (...outcomes: WalletOutcome[]) => faultOfSignIn(wallets(outcomes.length), outcomes);

test('there is no fault if all wallets are proved', () => {
  expect(faultOf(PROVED, PROVED)).toBeUndefined();
});

test('a refused wallet comes before an unread one, and used-up gas before an unread chain', () => {
  expect(faultOf(PROVED, UNREAD, OUT_OF_GAS, REFUSED)).toEqual({
    account: `0x${'3'.repeat(40)}`,
    code: 'sign-in-refused',
    message: expect.any(String),
    retryable: false,
    chainId: 4,
  });
  expect(faultOf(UNREAD, OUT_OF_GAS)).toMatchObject({ code: 'sign-in-unread', retryable: false, chainId: 2 });
  expect(faultOf(PROVED, UNREAD)).toMatchObject({ code: 'sign-in-unread', retryable: true, chainId: 2 });
});

test('a wallet without an outcome is unread, never proved', () => {
  expect(faultOfSignIn(wallets(1), [])).toMatchObject({ code: 'sign-in-unread', retryable: true });
});
