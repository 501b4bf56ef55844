import { OPERATORS } from '#shared/contracts/apps/audit.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { describeError } from '#shared/errors.ts';
import { isWithinBudgets } from '#shared/fairness/throttle.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { Work } from '../work.ts';

/**
 * Sign-ins and failures of an account that are recorded one by one in a day; one more entry says
 * that there were further ones. So neither its owner nor a stranger who guesses fills its trail.
 */
const SIGN_INS_OF_DAY = 20;
const FURTHER = 'further ones of this day are not listed';

type SignIn = 'signed-in' | 'sign-in-failed';

type Dependencies = Pick<Work, 'writes' | 'throttle'> & { readonly log: Logger };

/**
 * Records who had access: sign-ins, and what operators read. An entry that cannot be written is
 * logged, and the access goes on: operators need the portal most when something does not work.
 */
export function makeAuditAccess({ writes, throttle, log }: Dependencies) {
  const attempt = async (what: string, record: () => Promise<void>): Promise<void> => {
    try {
      await record();
    } catch (error) {
      log.error({ error: describeError(error), what }, 'audit entry not written');
    }
  };
  const takes = (name: string, countMax: number, owner: string): Promise<boolean> =>
    isWithinBudgets(throttle, [{ budget: { name, countMax, windowMs: DAY_MS }, owner }]);
  return {
    signIn: (action: SignIn, accountId: string, from: string): Promise<void> =>
      attempt(action, async () => {
        const entry = { accountId, actor: accountId, action, subject: accountId };
        if (await takes(action, SIGN_INS_OF_DAY, accountId)) await writes.record({ ...entry, from });
        else if (await takes(`${action}-further`, 1, accountId))
          await writes.record({ ...entry, from: FURTHER });
      }),
    /** @param about the account and app that was read; absent for what is about no single one */
    read: (
      actor: string,
      action: string,
      subject: string,
      about: { readonly accountId: string; readonly clientId?: string } = { accountId: OPERATORS },
    ): Promise<void> =>
      attempt(action, () => writes.record({ ...about, actor, action, subject, kind: 'read' })),
  };
}
