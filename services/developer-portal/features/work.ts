import type { Account } from '#shared/contracts/apps/client-app.ts';
import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import { webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { readMonthUsed } from '#shared/stores/checks/admit.ts';
import { makeChainReports } from '#shared/stores/checks/chain-reports.ts';
import { makeChainStates } from '#shared/stores/checks/chain-states.ts';
import { makeRuleSetWrites } from '#shared/stores/rules/write-rule-sets.ts';
import { dateOf, dayOf } from '#shared/stores/usage/usage-days.ts';
import { makeWatchWrites } from '#shared/stores/watches/write-watches.ts';
import { makeResendWebhooks } from '#shared/stores/webhooks/resend-webhooks.ts';
import { makeAccountWork } from './accounts/account-work.ts';
import { makeResetLinks } from './accounts/reset-links.ts';
import { makeClientAppWork } from './apps/client-apps.ts';
import { type Connections, makeBasis } from './basis.ts';
import { makeTwoFactor } from './sessions/two-factor.ts';
import { makeReadWatchEvents } from './watches/read-watch-events.ts';

/** The operations on accounts, client apps, rule sets, watches and deliveries that the portal and
 * the admin command share. */
export type Work = ReturnType<typeof makeWork>;

/** @param countBytes counts what a resend keeps towards its account's bytes of the day; the resends of
 *   the operator's commands count for nobody */
export function makeWork(
  connections: Connections,
  countBytes: (clientId: string, bytes: number) => void = () => undefined,
) {
  const basis = makeBasis(connections);
  const { redis, publish } = basis;
  const apps = makeClientAppWork(basis);
  const accountWork = makeAccountWork({ ...basis, apps });
  return {
    ...basis,
    apps,
    accountWork,
    resetLinks: makeResetLinks(basis),
    twoFactor: makeTwoFactor({ ...basis, accountWork }),
    ruleSetWrites: makeRuleSetWrites(basis),
    watchWrites: makeWatchWrites({ ...basis, members: basis.watchMembers }),
    resends: makeResendWebhooks({
      ...basis,
      publish: (message) => publish(webhookRequested, message),
      countBytes,
    }),
    readWatchEvents: makeReadWatchEvents(basis),
    chainReports: makeChainReports(redis, basis.now),
    chainStates: makeChainStates(redis),
    /** The checks of an app in this calendar month (UTC), as the limiter counts them, and its
     * quota. */
    async readMonth(clientId: string, owner: Account | undefined) {
      const name = dateOf(dayOf(basis.now())).slice(0, 7);
      const used = await readMonthUsed(redis, clientId, name);
      return { name, used, quota: owner ? limitsOf(owner).requestsPerMonth : 0 };
    },
  };
}
