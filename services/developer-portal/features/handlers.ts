import type { Dependencies } from '../dependencies.ts';
import type { Handlers, OperationId } from '../http/operations.ts';
import { makeAccountHandlers } from './accounts/handle-accounts.ts';
import { makeAppHandlers } from './apps/handle-apps.ts';
import { makeBatchHandlers } from './batches/handle-batches.ts';
import { makeCheckHandlers } from './checks/handle-checks.ts';
import { makeDeliveryHandlers } from './deliveries/handle-deliveries.ts';
import { makeOperatorHandlers } from './operator/handle-operator.ts';
import { makeRuleSetHandlers } from './rule-sets/handle-rule-sets.ts';
import { makeSingleSignOnHandlers } from './single-sign-on/handle-single-sign-on.ts';
import { makeMemberHandlers } from './team/handle-members.ts';
import { makeUsageHandlers } from './usage/handle-usage.ts';
import { makeWatchHandlers } from './watches/handle-watches.ts';

export const makeHandlers = (deps: Dependencies): Handlers<OperationId> => ({
  ...makeAccountHandlers(deps),
  ...makeSingleSignOnHandlers(deps),
  ...makeAppHandlers(deps),
  ...makeUsageHandlers(deps),
  ...makeCheckHandlers(deps),
  ...makeDeliveryHandlers(deps),
  ...makeRuleSetHandlers(deps),
  ...makeBatchHandlers(deps),
  ...makeWatchHandlers(deps),
  ...makeMemberHandlers(deps),
  ...makeOperatorHandlers(deps),
});
