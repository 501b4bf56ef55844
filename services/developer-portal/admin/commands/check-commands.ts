import { type Command, Option } from 'commander';
import type { LoggedCheck } from '#shared/contracts/checks/check-log.ts';
import { WebhookState } from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import { type DeliveryView, LISTED_MAX } from '#shared/stores/webhooks/deliveries.ts';
import { bodyOfCheck } from '../../domain/body-of-check.ts';
import { stepsOfCheck } from '../../domain/steps-of-check.ts';
import { makeReadSentCheck } from '../../features/checks/read-sent-check.ts';
import { adderTo, instant, type Run } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';

const PAGE_COUNT = 1_000;

/** The stored result of a check, its app, the durations of its steps, its request, and the attempts
 * of its webhook. */
async function showCheck(system: OpenSystem, requestId: string) {
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
      keyId: found.check.keyId,
      steps: stepsOfCheck(found.check, delivery),
    }),
    ...(sent && { request: bodyOfCheck(sent) }),
    ...(resultJson !== undefined && { result: JSON.parse(resultJson) as unknown }),
    ...(delivery && { webhook: shownOf(delivery) }),
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

/** The status of a batch with its client app and stored parts, and the attempts of its webhook if
 * it has one. */
async function showBatch(system: OpenSystem, requestId: string) {
  const [status, progress] = await Promise.all([
    system.batches.readStatus(requestId),
    system.batches.readProgress(requestId),
  ]);
  if (!status || !progress) throw new ServiceError('not-found', `there is no batch ${requestId}`);
  const { clientId, partCount, storedPartCount } = progress;
  const delivery = await system.deliveries.read(requestId);
  return {
    ...status,
    clientId,
    parts: { stored: storedPartCount, all: partCount },
    ...(delivery && { webhook: shownOf(delivery) }),
  };
}

async function listWebhooks(
  { deliveries, clientApps }: OpenSystem,
  clientId: string,
  { state }: { state?: WebhookState },
) {
  await requireApp(clientApps, clientId);
  const found: ({ readonly requestId: string } & ReturnType<typeof shownOf>)[] = [];
  let before: string | undefined;
  do {
    const page = await deliveries.page(clientId, { state, before, countMax: PAGE_COUNT });
    for (const delivery of page.deliveries)
      found.push({ requestId: delivery.requestId, ...shownOf(delivery) });
    before = page.next;
  } while (before !== undefined && found.length < LISTED_MAX);
  return found.slice(0, LISTED_MAX);
}

/** A mistyped id must not look like an app without deliveries. Deleted apps may still have
 * deliveries. */
async function requireApp(clientApps: OpenSystem['clientApps'], clientId: string): Promise<void> {
  if (!(await clientApps.read(clientId)))
    throw new ServiceError('not-found', `there is no client app ${clientId}`);
}

/** A webhook with its attempts. */
const shownOf = ({ state, callbackUrl, nextAttemptAt, attempts }: DeliveryView) => ({
  state,
  callbackUrl,
  ...(nextAttemptAt && { nextAttemptAt }),
  attempts,
});

export function addChecks(program: Command, run: Run): void {
  adderTo(program.command('check').description('results of checks'), run)(
    'show <requestId>',
    'show a check: its app, request, steps, stored result and the attempts of its webhook',
    showCheck,
  );
  adderTo(program.command('batch').description('batches'), run)(
    'show <requestId>',
    'show the status of a batch, its stored parts and the attempts of its webhook',
    showBatch,
  );
  const add = adderTo(program.command('webhook').description('deliveries'), run);
  add('show <requestId>', 'one delivery with its attempts', async ({ deliveries }, id: string) => {
    const delivery = await deliveries.read(id);
    if (!delivery) throw new ServiceError('not-found', `there is no webhook of request ${id}`);
    return shownOf(delivery);
  });
  add(
    'list <id>',
    `a client app's deliveries, newest first; kept are the newest ${LISTED_MAX} of each app`,
    listWebhooks,
  ).addOption(new Option('--state <state>', 'only deliveries in this state').choices(WebhookState.options));
  add(
    'resend <requestId>',
    'deliver a webhook again, with the same bytes and the same id; returns once a webhook-dispatcher has taken it',
    ({ resends }, id: string) => resends.resend(id),
  );
  add(
    'resend-failed <id>',
    'deliver all failed webhooks of a client app again',
    async ({ resends, clientApps }, id: string, { since }: { since: number }) => {
      await requireApp(clientApps, id);
      return resends.resendFailed(id, since);
    },
  ).requiredOption(
    '--since <instant>',
    'only webhooks exhausted or stopped at this instant or later',
    instant,
  );
}
