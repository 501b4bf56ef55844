import type { z } from 'zod';
import { type LoggedCheck, roleTagOf } from '#shared/contracts/checks/check-log.ts';
import { CHECK_PATH } from '#shared/contracts/paths.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Dependencies } from '../../dependencies.ts';
import { bodyOfCheck } from '../../domain/body-of-check.ts';
import { curlOfCheck } from '../../domain/curl-of-check.ts';
import { stepsOfCheck } from '../../domain/steps-of-check.ts';
import type { Handlers } from '../../http/call.ts';
import type { ChecksQuery } from './check-operations.ts';

/** The log of an app's checks. */
export function makeCheckHandlers({
  checkLog,
  results,
  deliveries,
  readSentCheck,
  config,
}: Dependencies): Handlers<'listChecks' | 'readCheck' | 'readCheckRequest'> {
  const findOwn = async (clientId: string, requestId: string) => {
    const check = await checkLog.find(clientId, requestId);
    if (!check) throw new ServiceError('not-found', 'this check is not among the newest checks of the app');
    return check;
  };
  return {
    async listChecks({ app: { clientId }, query }) {
      const found = (await checkLog.list(clientId)).filter((check) => isWanted(check, query));
      const from = found.findIndex(({ requestId }) => requestId === query.before) + 1;
      const page = found.slice(from, from + query.limit);
      const last = page.at(-1);
      return {
        checks: page.map(presentCheck),
        ...(last && from + page.length < found.length && { next: last.requestId }),
      };
    },
    async readCheck({ app: { clientId }, param }) {
      const wanted = param('requestId');
      const check = await findOwn(clientId, wanted);
      const [resultJson, delivery] = await Promise.all([results.read(wanted), deliveries.read(wanted)]);
      return {
        ...presentCheck(check),
        steps: stepsOfCheck(check, delivery),
        ...(resultJson !== undefined && { result: JSON.parse(resultJson) as Record<string, unknown> }),
        delivery,
      };
    },
    async readCheckRequest({ account, app: { clientId }, param }) {
      const check = await findOwn(clientId, param('requestId'));
      const sent = await readSentCheck(clientId, check, account.accountId);
      if (!sent) throw new ServiceError('not-found', GONE);
      const body = bodyOfCheck(sent);
      return { body, curl: curlOfCheck(`${config.gateway.publicUrl}${CHECK_PATH}`, JSON.stringify(body)) };
    },
  };
}

const GONE = 'the request of this check is no longer kept: requests are kept for 7 days';

type Filters = Omit<z.output<typeof ChecksQuery>, 'before' | 'limit'>;

function isWanted(check: LoggedCheck, filters: Filters): boolean {
  const { requestId, mode, status, outcome, code, roleId, keyId, since } = filters;
  return (
    (requestId === undefined || check.requestId === requestId) &&
    (mode === undefined || check.mode === mode) &&
    (status === undefined || check.status === status) &&
    (outcome === undefined || check[outcome] > 0) &&
    (code === undefined || check.codes.includes(code)) &&
    (roleId === undefined || check.roleTags.includes(roleTagOf(roleId))) &&
    (keyId === undefined || check.keyId === keyId) &&
    (since === undefined || check.acceptedAtMs >= Date.parse(since))
  );
}

const presentCheck = (check: LoggedCheck) => ({
  ...check,
  acceptedAt: new Date(check.acceptedAtMs).toISOString(),
});
