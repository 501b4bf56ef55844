import {
  describeUndetermined,
  type SignInFault,
  type Undetermined,
} from '#shared/contracts/checks/result.ts';
import type { WalletSignIn } from '#shared/contracts/sign-in/sign-in-request.ts';
import { failed } from '../../domain/read.ts';

/**
 * Whether a signature proves a wallet:
 * - proved;
 * - refused, `sign-in-refused`: by the signature, or by the wallet's contract;
 * - unread, `sign-in-unread`: the contract could not be asked, or used up its gas.
 */
export type WalletOutcome = { readonly ok: true } | ({ readonly ok: false } & Undetermined);

export const PROVED: WalletOutcome = Object.freeze({ ok: true });
export const REFUSED: WalletOutcome = failed('sign-in-refused');
export const UNREAD: WalletOutcome = failed('sign-in-unread');

/**
 * The entry in `errors` of a check whose wallets are not all proved. It stands alone: a refusal
 * first, because another try changes nothing, then a wallet that used up its gas, then one that
 * could not be asked.
 *
 * @param outcomes in the order of the wallets
 * @returns `undefined` if all are proved
 */
export function faultOfSignIn(
  wallets: readonly WalletSignIn[],
  outcomes: readonly WalletOutcome[],
): SignInFault | undefined {
  const faults = wallets.flatMap(({ account, chainId }, index): SignInFault[] => {
    const outcome = outcomes[index] ?? UNREAD;
    if (outcome.ok) return [];
    const code = outcome.code === 'sign-in-refused' ? outcome.code : 'sign-in-unread';
    const { message, retryable } = describeUndetermined(outcome);
    return [{ account, code, message, retryable, chainId }];
  });
  return (
    faults.find(({ code }) => code === 'sign-in-refused') ??
    faults.find(({ retryable }) => !retryable) ??
    faults[0]
  );
}
