import { z } from 'zod';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { ServiceError } from '#shared/errors.ts';
import type { AppOwner } from '#shared/fairness/fair-shares.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Handlers } from '../../http/operations.ts';
import { makeSignIns } from '../accounts/sign-ins.ts';
import { accountIdOf, credentialOf } from '../apps/credentials.ts';
import type { Identity } from './identity-provider.ts';
import type { SINGLE_SIGN_ON_OPERATIONS } from './single-sign-on-operations.ts';

/** Each attempt asks the provider up to three times. */
const ATTEMPTS_OF_ADDRESS = { name: 'single-sign-on', countMax: 100, windowMs: HOUR_MS / 4 } as const;
const ATTEMPT_MS_MAX = 600_000;

/** An attempt waits for the provider's answer, or for the code of the account's second factor. The
 * browser keeps it, encrypted, so an attempt costs the portal nothing. */
const Asked = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), until: z.number() });
const Confirmed = z.object({ accountId: z.string(), credential: z.string(), until: z.number() });

/** Signing in at the identity provider. The session is the same as with a password. */
export function makeSingleSignOnHandlers(
  deps: Dependencies,
): Handlers<keyof typeof SINGLE_SIGN_ON_OPERATIONS> {
  const { accounts, accountWork, identityProvider, throttle, twoFactor, box, now } = deps;
  const { openSession, requireMaySignUp } = makeSignIns(deps);

  const seal = (attempt: object): string =>
    box.seal(JSON.stringify({ ...attempt, until: now() + ATTEMPT_MS_MAX }), 'single-sign-on');
  const open = <T extends { until: number }>(schema: z.ZodType<T>, sealed: string): T => {
    try {
      const attempt = schema.parse(JSON.parse(box.open(sealed, 'single-sign-on')));
      if (attempt.until >= now()) return attempt;
    } catch {}
    throw new Problem('credentials-invalid', 'This sign-in took too long. Sign in again.');
  };
  const requireProvider = () => {
    if (!identityProvider) throw new ServiceError('conflict', 'this portal has no identity provider');
    return identityProvider;
  };
  const take = ({ accountId }: AppOwner) =>
    throttle.take([{ budget: ATTEMPTS_OF_ADDRESS, owner: accountId }]);

  /** The account of a person; a new one if the address has none and they may sign up. */
  const join = async ({ subject, email }: Identity, invitation: string, visitor: AppOwner) => {
    const known = await accounts.findByEmail(email);
    if (!known) await requireMaySignUp(email, invitation, visitor);
    const accountId = known?.accountId ?? accountIdOf(email);
    if (!known) await accountWork.ensure(accountId, email, { verified: true, singleSignOn: subject });
    return accountWork.join(accountId, subject);
  };

  return {
    async beginSingleSignOn({ visitor }) {
      await take(visitor);
      const { url, expected } = await requireProvider().begin();
      return { url, attempt: seal(expected) };
    },
    async finishSingleSignOn(call) {
      const { attempt, query, invitation = '' } = call.body;
      await take(call.visitor);
      const identity = await requireProvider().finish(open(Asked, attempt), query);
      const account = await join(identity, invitation, call.visitor);
      if (!account.twoFactor) return openSession(account, async () => account, call);
      return { attempt: seal({ accountId: account.accountId, credential: credentialOf(account) }) };
    },
    async proveSingleSignOn(call) {
      const { accountId, credential } = open(Confirmed, call.body.attempt);
      const account = await accounts.read(accountId);
      if (!account || account.deletedAt !== undefined || credentialOf(account) !== credential)
        throw new Problem('credentials-invalid', 'The account has changed meanwhile. Sign in again.');
      return openSession(account, () => twoFactor.prove(account, call.body.code), call);
    },
  };
}
