import type { LoggedCheck } from '#shared/contracts/checks/check-log.ts';
import { ServiceError } from '#shared/errors.ts';
import { bodyOfCheck } from '../../domain/body-of-check.ts';
import { stepsOfCheck } from '../../domain/steps-of-check.ts';
import { makeReadSentCheck } from '../../features/checks/read-sent-check.ts';
import type { OpenSystem } from '../open-system.ts';
import { showWebhook } from './webhook-commands.ts';

/** Commands about checks; each value is the output of `--json`. */

/** The stored result of a check, its app, the durations of its steps, its request, and the attempts of its webhook. */
export async function showCheck(system: OpenSystem, requestId: string) {
  const [resultJson, found] = await Promise.all([
    system.results.read(requestId),
    findLogged(system, requestId),
  ]);
  if (resultJson === undefined && !found)
    throw new ServiceError('not-found', `no result of request ${requestId} is stored`);
  const delivery = await system.deliveries.read(requestId);
  const sent = found && (await makeReadSentCheck(system.kafka)(found.clientId, found.check));
  return {
    ...(found && {
      clientId: found.clientId,
      ...(found.check.keyId !== undefined && { keyId: found.check.keyId }),
      steps: stepsOfCheck(found.check, delivery),
    }),
    ...(sent && { request: bodyOfCheck(sent) }),
    ...(resultJson !== undefined && { result: JSON.parse(resultJson) as unknown }),
    ...(delivery && { webhook: await showWebhook(system, requestId) }),
  };
}

/** A result does not name its app: the logs of all apps are asked, each for one instant. */
async function findLogged(
  { clientApps, checkLog }: OpenSystem,
  requestId: string,
): Promise<{ readonly clientId: string; readonly check: LoggedCheck } | undefined> {
  const ids = await clientApps.list(({ clientId }) => clientId);
  const found = await Promise.all(
    ids.map(async (clientId) => ({ clientId, check: await checkLog.find(clientId, requestId) })),
  );
  for (const { clientId, check } of found) if (check) return { clientId, check };
  return undefined;
}
