import type { Dependencies } from '../dependencies.ts';
import type { Handlers } from '../http/call.ts';
import type { OperationId } from '../http/operations.ts';
import { makeAccountHandlers } from './accounts/handle-accounts.ts';
import { makeAppHandlers } from './apps/handle-apps.ts';
import { makeBatchHandlers } from './batches/handle-batches.ts';
import { makeCheckHandlers } from './checks/handle-checks.ts';
import { makeTryHandlers } from './checks/try-check.ts';
import { makeDeliveryHandlers } from './deliveries/handle-deliveries.ts';
import { makeOperatorHandlers } from './operator/handle-operator.ts';
import { makeRuleSetHandlers } from './rule-sets/handle-rule-sets.ts';
import { makeSessionHandlers } from './sessions/handle-sessions.ts';
import { makeSingleSignOnHandlers } from './single-sign-on/handle-single-sign-on.ts';
import { makeMemberHandlers } from './team/handle-members.ts';
import { makeUsageHandlers } from './usage/handle-usage.ts';
import { makeWatchHandlers } from './watches/handle-watches.ts';

/** A handler for every operation. */
export const makeHandlers = (deps: Dependencies): Handlers<OperationId> => ({
  ...makeAccountHandlers(deps),
  ...makeSessionHandlers(deps),
  ...makeSingleSignOnHandlers(deps),
  ...makeAppHandlers(deps),
  ...makeUsageHandlers(deps),
  ...makeCheckHandlers(deps),
  ...makeTryHandlers(deps),
  ...makeDeliveryHandlers(deps),
  ...makeRuleSetHandlers(deps),
  ...makeBatchHandlers(deps),
  ...makeWatchHandlers(deps),
  ...makeMemberHandlers(deps),
  ...makeOperatorHandlers(deps),
});
