import { type Command, Option } from 'commander';
import { WebhookState } from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import { LISTED_MAX } from '#shared/stores/webhooks/delivery-scripts.ts';
import type { DeliveryView } from '#shared/stores/webhooks/delivery-view.ts';
import type { OpenSystem } from '../open-system.ts';
import { instant } from '../parse-figures.ts';

type Run = (work: (opened: OpenSystem) => Promise<unknown>) => Promise<void>;

const PAGE_COUNT = 1_000;

/** Commands about deliveries; each value is the output of `--json`. */

export async function showWebhook(system: OpenSystem, requestId: string) {
  return shownOf(await readDelivery(system, requestId));
}

async function listWebhooks(
  { deliveries, clientApps }: OpenSystem,
  clientId: string,
  state: WebhookState | undefined,
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

/** Sends a webhook again with the same id and bytes; its retry schedule starts over. */
const resendWebhook = ({ resends }: OpenSystem, requestId: string) => resends.resend(requestId);

/** Sends all webhooks again that were exhausted or stopped at `sinceMs` or later. */
async function resendFailed({ resends, clientApps }: OpenSystem, clientId: string, sinceMs: number) {
  await requireApp(clientApps, clientId);
  return resends.resendFailed(clientId, sinceMs);
}

/** A mistyped id must not look like an app without deliveries. Deleted apps may still have deliveries. */
async function requireApp(clientApps: OpenSystem['clientApps'], clientId: string): Promise<void> {
  if (!(await clientApps.read(clientId)))
    throw new ServiceError('not-found', `there is no client app ${clientId}`);
}

async function readDelivery({ deliveries }: OpenSystem, requestId: string): Promise<DeliveryView> {
  const delivery = await deliveries.read(requestId);
  if (!delivery) throw new ServiceError('not-found', `there is no webhook of request ${requestId}`);
  return delivery;
}

function shownOf({ state, callbackUrl, nextAttemptAt, attempts }: DeliveryView) {
  return {
    state,
    callbackUrl,
    ...(nextAttemptAt ? { nextAttemptAt } : {}),
    attempts: attempts.map(({ attempt, at, status, durationMs, class: outcome, resendCount }) => ({
      attempt,
      at,
      status,
      durationMs,
      class: outcome,
      resendCount,
    })),
  };
}

/** The subcommands of `admin webhook`. */
export function addWebhooks(program: Command, run: Run): void {
  const webhook = program.command('webhook').description('deliveries');
  webhook
    .command('show <requestId>')
    .description('one delivery with its attempts')
    .action((id) => run((opened) => showWebhook(opened, id)));
  webhook
    .command('list <id>')
    .description(`a client app's deliveries, newest first; kept are the newest ${LISTED_MAX} of each app`)
    .addOption(new Option('--state <state>', 'only deliveries in this state').choices(WebhookState.options))
    .action((id, { state }) => run((opened) => listWebhooks(opened, id, state)));
  webhook
    .command('resend <requestId>')
    .description(
      'deliver a webhook again, with the same bytes and the same id; returns once a webhook-dispatcher has taken it',
    )
    .action((id) => run((opened) => resendWebhook(opened, id)));
  webhook
    .command('resend-failed <id>')
    .description('deliver all failed webhooks of a client app again')
    .requiredOption(
      '--since <instant>',
      'only webhooks exhausted or stopped at this instant or later',
      instant,
    )
    .action((id, { since }) => run((opened) => resendFailed(opened, id, since)));
}
