import type { z } from 'zod';
import type { LoggedCheck } from '#shared/contracts/check-log.ts';
import { ServiceError } from '#shared/errors.ts';
import type { CheckLog } from '#shared/redis/check-log.ts';
import type { Deliveries } from '#shared/redis/deliveries.ts';
import type { Results } from '#shared/redis/results.ts';
import type { ChecksQuery } from './api.ts';
import type { Handlers } from './call.ts';
import type { ReadOwn } from './handle-apps.ts';
import { presentDelivery } from './present.ts';

export type Dependencies = {
  readonly readOwn: ReadOwn;
  readonly checkLog: CheckLog;
  readonly results: Pick<Results, 'read'>;
  readonly deliveries: Pick<Deliveries, 'read'>;
};

/** The log of an app's checks. */
export function makeCheckHandlers(deps: Dependencies): Handlers<'listChecks' | 'readCheck'> {
  const { readOwn, checkLog, results, deliveries } = deps;
  return {
    async listChecks({ account, param, query }) {
      const { clientId } = await readOwn(account, param('clientId'));
      const found = (await checkLog.list(clientId)).filter((check) => isWanted(check, query));
      const from = found.findIndex(({ requestId }) => requestId === query.before) + 1;
      const page = found.slice(from, from + query.limit);
      const last = page.at(-1);
      return {
        checks: page.map(presentCheck),
        ...(last && from + page.length < found.length && { next: last.requestId }),
      };
    },
    async readCheck({ account, param }) {
      const { clientId } = await readOwn(account, param('clientId'));
      const wanted = param('requestId');
      const check = (await checkLog.list(clientId)).find(({ requestId }) => requestId === wanted);
      if (!check) throw new ServiceError('not-found', 'this check is not among the newest checks of the app');
      const [resultJson, delivery] = await Promise.all([results.read(wanted), deliveries.read(wanted)]);
      return {
        ...presentCheck(check),
        ...(resultJson !== undefined && { result: JSON.parse(resultJson) as Record<string, unknown> }),
        ...(delivery && { delivery: presentDelivery(delivery) }),
      };
    },
  };
}

type Filters = Omit<z.output<typeof ChecksQuery>, 'before' | 'limit'>;

function isWanted(check: LoggedCheck, { requestId, mode, status, outcome, code, since }: Filters): boolean {
  return (
    (requestId === undefined || check.requestId === requestId) &&
    (mode === undefined || check.mode === mode) &&
    (status === undefined || check.status === status) &&
    (outcome === undefined || check[outcome] > 0) &&
    (code === undefined || check.codes.includes(code)) &&
    (since === undefined || check.acceptedAtMs >= Date.parse(since))
  );
}

const presentCheck = ({ acceptedAtMs, codes, ...check }: LoggedCheck) => ({
  ...check,
  acceptedAt: new Date(acceptedAtMs).toISOString(),
  codes: [...codes],
});
