import { webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { makeAccountBytes } from '#shared/fairness/account-bytes.ts';
import { makeLeasedSlots } from '#shared/fairness/leased-slots.ts';
import { makeThrottle } from '#shared/fairness/throttle.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Redis } from '#shared/redis/connect.ts';
import type { SecretBox } from '#shared/secret-box.ts';
import type { openViews } from '#shared/stores/replay/open-views.ts';
import { makeRuleSetWrites } from '#shared/stores/rules/write-rule-sets.ts';
import { makeFollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import { makeWatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import { makeWatchWrites } from '#shared/stores/watches/write-watches.ts';
import { makeAccountWork } from './accounts/account-work.ts';
import { makeResetLinks } from './accounts/reset-links.ts';
import { makeClientAppWork } from './apps/client-apps.ts';
import { makeAuditedWrites } from './audited-writes.ts';
import { makeResendWebhooks } from './deliveries/resend-webhooks.ts';
import { makeTwoFactor } from './sessions/two-factor.ts';

type Dependencies = {
  readonly redis: Redis;
  readonly store: ReturnType<typeof openViews>;
  readonly publish: KafkaConnection['publish'];
  readonly box: SecretBox;
  /** Awaited after each resend is published; by default nothing is awaited. */
  readonly afterResend?: (requestId: string, resendCount: number) => Promise<void>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** The operations on accounts, client apps, rule sets and deliveries that the portal and the admin command share. */
export function makeWork({ redis, store, publish, box, afterResend, now }: Dependencies) {
  const writes = makeAuditedWrites({ ...store, publish, now });
  const slots = makeLeasedSlots(redis);
  const throttle = makeThrottle(redis);
  const { requireRoom } = makeAccountBytes(redis);
  const apps = makeClientAppWork({ ...store, slots, writes, box, now });
  const accountWork = makeAccountWork({ ...store, apps, writes, now });
  return {
    watchWrites: makeWatchWrites({
      ...store,
      members: store.watchMembers,
      sweeps: makeWatchSweeps(redis),
      followed: makeFollowedContracts(redis),
      slots,
      throttle,
      requireRoom,
      publish,
      now,
    }),
    writes,
    apps,
    resetLinks: makeResetLinks({ redis, readAccount: store.accounts.read, record: writes.record, now }),
    accountWork,
    twoFactor: makeTwoFactor({ redis, box, throttle, accountWork, now }),
    ruleSetWrites: makeRuleSetWrites({ ...store, slots, throttle, requireRoom, publish, now }),
    resends: makeResendWebhooks({
      ...store,
      publish: (message) => publish(webhookRequested, message),
      afterPublish: afterResend,
      now,
    }),
  };
}
