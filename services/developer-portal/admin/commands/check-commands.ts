import { type Command, Option } from 'commander';
import { WebhookState } from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import { type DeliveryView, LISTED_MAX } from '#shared/stores/webhooks/deliveries.ts';
import { bodyOfCheck, stepsOfCheck } from '../../domain/describe-check.ts';
import { existing } from '../../features/basis.ts';
import { makeReadRecords } from '../../features/read-records.ts';
import { addGroup, instant, type Run } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';

const PAGE_COUNT = 1_000;

async function showCheck(system: OpenSystem, requestId: string) {
  const [resultJson, found, delivery] = await Promise.all([
    system.results.read(requestId),
    findLogged(system, requestId),
    system.deliveries.read(requestId),
  ]);
  if (resultJson === undefined && !found)
    throw new ServiceError('not-found', `no result of request ${requestId} is stored`);
  const sent = found && (await makeReadRecords(system.kafka).readSentCheck(found.clientId, found.check));
  return {
    ...(found && {
      clientId: found.clientId,
      keyId: found.check.keyId,
      steps: stepsOfCheck(found.check, delivery),
    }),
    request: sent && bodyOfCheck(sent),
    result: resultJson === undefined ? undefined : (JSON.parse(resultJson) as unknown),
    webhook: delivery && shownOf(delivery),
  };
}

/** A result does not name its app: the logs of all apps are asked, each for one instant. */
async function findLogged({ clientApps, checkLog }: OpenSystem, requestId: string) {
  const ids = await clientApps.list(({ clientId }) => clientId);
  const found = ids.map(async (clientId) => {
    const check = await checkLog.find(clientId, requestId);
    return check ? [{ clientId, check }] : [];
  });
  return (await Promise.all(found)).flat().at(0);
}

async function showBatch({ batches, deliveries }: OpenSystem, requestId: string) {
  const [status, progress, delivery] = await Promise.all([
    batches.readStatus(requestId),
    batches.readProgress(requestId),
    deliveries.read(requestId),
  ]);
  if (!status || !progress) throw new ServiceError('not-found', `there is no batch ${requestId}`);
  const { clientId, partCount, storedPartCount } = progress;
  const parts = { stored: storedPartCount, all: partCount };
  return { ...status, clientId, parts, webhook: delivery && shownOf(delivery) };
}

async function listWebhooks(
  { deliveries, clientApps }: OpenSystem,
  clientId: string,
  { state }: { state?: WebhookState },
) {
  await requireApp(clientApps, clientId);
  const found: DeliveryView[] = [];
  let before: string | undefined;
  do {
    const page = await deliveries.page(clientId, { state, before, countMax: PAGE_COUNT });
    found.push(...page.deliveries);
    before = page.next;
  } while (before !== undefined && found.length < LISTED_MAX);
  return found.slice(0, LISTED_MAX).map((view) => ({ requestId: view.requestId, ...shownOf(view) }));
}

/** A mistyped id must not look like an app without deliveries. Deleted apps may still have
 * deliveries. */
export async function requireApp(clientApps: OpenSystem['clientApps'], clientId: string): Promise<void> {
  if (!(await clientApps.read(clientId)))
    throw new ServiceError('not-found', `there is no client app ${clientId}`);
}

const shownOf = ({ state, callbackUrl, nextAttemptAt, attempts }: DeliveryView) => ({
  state,
  callbackUrl,
  ...(nextAttemptAt && { nextAttemptAt }),
  attempts,
});

export function addChecks(program: Command, run: Run): void {
  const addCheck = addGroup(program, run, 'check', 'results of checks');
  addCheck('show <requestId>', showCheck).description(
    'show a check: its app, request, steps, stored result and the attempts of its webhook',
  );
  const addBatch = addGroup(program, run, 'batch', 'batches');
  addBatch('show <requestId>', showBatch).description(
    'show the status of a batch, its stored parts and the attempts of its webhook',
  );
  const add = addGroup(program, run, 'webhook', 'deliveries');
  add('show <requestId>', async ({ deliveries }, id: string) => {
    const delivery = await deliveries.read(id);
    return shownOf(existing(delivery, `there is no webhook of request ${id}`));
  }).description('one delivery with its attempts');
  add('list <id>', listWebhooks)
    .description(`a client app's deliveries, newest first; kept are the newest ${LISTED_MAX} of each app`)
    .addOption(new Option('--state <state>', 'only deliveries in this state').choices(WebhookState.options));
  add('resend <requestId>', ({ resends }, id: string) => resends.resend(id)).description(
    'deliver a webhook again, with the same bytes and the same id; returns once a webhook-dispatcher has taken it',
  );
  add('resend-failed <id>', async ({ resends, clientApps }, id: string, { since }: { since: number }) => {
    await requireApp(clientApps, id);
    return resends.resendFailed(id, since);
  })
    .description('deliver all failed webhooks of a client app again')
    .requiredOption(
      '--since <instant>',
      'only webhooks exhausted or stopped at this instant or later',
      instant,
    );
}
