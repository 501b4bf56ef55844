import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import type { Fault } from '#shared/contracts/fault.ts';
import { describeFaults, Problem } from '#shared/http/problem.ts';
import type { ValidCheck } from '../checks/validate-check.ts';
import type { Nonces } from './nonces.ts';

/** How far ahead of Redis's clock a message may have been issued. */
const ISSUED_AHEAD_MS_MAX = 60_000;

type Dependencies = {
  readonly nonces: Pick<Nonces, 'issuedAtOf'>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** Why the sign-ins of a check are refused before it is accepted; undefined if they are not. */
export type RefuseSignIn = (
  app: Pick<AppAccess, 'clientId' | 'domains'>,
  check: Pick<ValidCheck, 'account' | 'accounts' | 'signIn'>,
) => Problem | undefined;

/**
 * Makes the function that judges for whom, for which app and for what time messages are. Only the
 * step that charges the check knows whether the nonce was used.
 */
export function makeRefuseSignIn({ nonces, now }: Dependencies): RefuseSignIn {
  return ({ clientId, domains = [] }, { account, accounts = [account], signIn }) => {
    const [first] = signIn?.messages ?? [];
    if (signIn === undefined || first === undefined) return undefined;
    const faults: Fault[] = [];
    const refuse = (index: number, detail: string) => faults.push(faultOf(index, detail));
    if (!domains.includes(first.domain))
      refuse(0, `The message is for ${first.domain || 'no domain'}, which is no domain of this client app.`);
    if (nonces.issuedAtOf(first.nonce, clientId) === undefined)
      refuse(0, 'The nonce of the message was not issued to this client app.');
    const open = new Set(accounts.map((wallet) => wallet.toLowerCase()));
    const nowMs = now();
    for (const [index, message] of signIn.messages.entries()) {
      if (!open.delete(message.address.toLowerCase()))
        refuse(index, `${message.address} is none of the accounts, or has another message.`);
      if (message.issuedAtMs > nowMs + ISSUED_AHEAD_MS_MAX)
        refuse(index, 'The message was issued more than 60 s in the future.');
      if (message.expiresAtMs !== undefined && message.expiresAtMs <= nowMs)
        refuse(index, 'The message has expired.');
      if (message.notBeforeMs !== undefined && message.notBeforeMs > nowMs)
        refuse(index, 'The message is not valid yet.');
    }
    return faults.length === 0 ? undefined : signInRefused(faults);
  };
}

const faultOf = (index: number, detail: string): Fault => ({
  pointer: `/signIn/${index}/message`,
  code: 'sign-in-refused',
  detail,
});

const signInRefused = (faults: readonly Fault[]): Problem =>
  new Problem('sign-in-refused', describeFaults('The sign-in', faults), { members: { errors: faults } });

/** The problem of a nonce that the admission has refused. */
export const nonceRefused = (outcome: 'nonce-expired' | 'nonce-used'): Problem =>
  signInRefused([
    faultOf(
      0,
      outcome === 'nonce-used'
        ? 'The nonce of the message was used by another request.'
        : 'The nonce of the message has expired.',
    ),
  ]);
