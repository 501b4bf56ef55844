import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { checkRequestedBulk } from '#shared/contracts/checks/check-requested.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { webhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import { readLag } from '#shared/kafka/lag.ts';
import { type OpenSystem, openSystem } from '../../services/developer-portal/admin/open-system.ts';
import { demoRules } from '../support/builders/demo-rules.ts';
import type { WebhookReceiver } from '../support/fakes/receive-webhooks.ts';
import { waitUntilProcessed } from '../support/infrastructure/topic-work.ts';
import type { CheckMode } from '../support/judges/ledger.ts';
import type { Answer } from '../support/systems/check-client.ts';
import type { RunningSystem } from '../support/systems/running-system.ts';
import { waitUntil } from '../support/wait-until.ts';
import type { Apps, UpgradedApp } from './fill-apps.ts';

/** Checks of each app and mode. */
const EACH = 4;
const RETRIES = 10;
const BACKLOG = 24;
const POISONED = 3;
const STORE_BUGS = 4;
const EVALUATOR_BUGS = 3;

/** A check that was accepted, whose result may be known. */
export type AcceptedCheck = {
  readonly app: UpgradedApp;
  readonly mode: CheckMode;
  readonly requestId: string;
  readonly text?: string;
  /** Of its webhook, by the earlier version. */
  readonly attempts?: number;
};

export type Checks = {
  /** Their results are stored. */
  readonly finished: readonly AcceptedCheck[];
  /** Their webhooks failed, and wait in the second tier for the next attempt. */
  readonly retrying: readonly AcceptedCheck[];
  /** Their receiver answered 410. */
  readonly stopped: readonly AcceptedCheck[];
  /** Their results were dead-lettered by a bug of the result-store. */
  readonly unstored: readonly AcceptedCheck[];
  /** Dead-lettered and ended as failed by a bug of the evaluator. */
  readonly failed: readonly AcceptedCheck[];
  /** Keys of unreadable records. */
  readonly poisoned: readonly string[];
  /** A check that was sent with an idempotency key. */
  readonly idempotent: AcceptedCheck & { readonly key: string };
};

export type Receivers = {
  readonly healthy: WebhookReceiver;
  /** Answers 503. */
  readonly failing: WebhookReceiver;
  /** Answers 410. */
  readonly gone: WebhookReceiver;
};

/** Makes checks of every mode and end; returns when nothing but the retries of the second tier is left to do. */
export async function fillChecks(system: RunningSystem, apps: Apps, receivers: Receivers): Promise<Checks> {
  await using open = await openSystem(system.environment());
  const send = (app: UpgradedApp, mode: CheckMode, url = receivers.healthy.url) =>
    sendCheck(system, app, { mode, url });
  const finished: AcceptedCheck[] = [];
  for (const app of [apps.main, apps.paid, apps.rotated, apps.developed])
    for (const mode of ['sync', 'poll', 'webhook'] as const)
      for (let i = 0; i < EACH; i++) finished.push(await send(app, mode));
  for (const app of [apps.free, apps.limited])
    for (const mode of ['sync', 'poll', 'webhook'] as const) finished.push(await send(app, mode));
  const key = 'sent-before-the-upgrade';
  const idempotent = { ...(await sendCheck(system, apps.main, { mode: 'poll', key })), key };
  const unstored = await times(STORE_BUGS, () =>
    sendCheck(system, apps.main, { mode: 'poll', roleId: 'store-bug' }),
  );
  const failed = await times(EVALUATOR_BUGS, () =>
    sendCheck(system, apps.faulty, { mode: 'poll', roleId: 'bug-1' }),
  );
  const poisoned = await times(POISONED, async (i) => {
    await open.kafka.publishRecord(checkRequestedBulk.name, { key: `poison-${i}`, value: 'not JSON' });
    return `poison-${i}`;
  });
  const stopped = [await send(apps.main, 'webhook', receivers.gone.url)];
  const retrying = await times(RETRIES, () => send(apps.main, 'webhook', receivers.failing.url));
  await untilAtRest(system, open, receivers, { finished, retrying, stopped });
  return {
    finished: await readResults(finished),
    retrying: await readAttempts(system, await readResults(retrying)),
    stopped: await readResults(stopped),
    unstored,
    failed: await readResults(failed),
    poisoned,
    idempotent,
  };
}

/**
 * Accepts checks without evaluating them, and stops the system: the evaluators are frozen from before the first
 * check, and are killed once the starter no longer starts them again.
 */
export async function stopOverBacklog(
  system: RunningSystem & { readonly stop: () => Promise<number | string> },
  { main }: Apps,
  { healthy }: Receivers,
): Promise<readonly AcceptedCheck[]> {
  const evaluators = system.pidsOf('evaluator');
  for (const pid of evaluators) process.kill(pid, 'SIGSTOP');
  const mode = (i: number): CheckMode => (i % 2 === 0 ? 'poll' : 'webhook');
  const backlog = await times(BACKLOG, (i) => sendCheck(system, main, { mode: mode(i), url: healthy.url }));
  const stopped = system.stop();
  await waitUntil('the stop to begin', () => system.log().includes('stopping'));
  for (const pid of evaluators) process.kill(pid, 'SIGKILL');
  await stopped;
  return backlog;
}

type Sent = {
  readonly mode: CheckMode;
  readonly url?: string;
  readonly roleId?: string;
  readonly key?: string;
};

/** The body of a check of the demo chain's holder, who has the tokens. */
export function bodyOf({ chain }: RunningSystem, { mode, url, roleId = 'member' }: Sent): object {
  const more = { sync: {}, poll: { async: true }, webhook: { callbackUrl: url } }[mode];
  const { erc20, erc721 } = demoRules(chain);
  return {
    account: chain.holder,
    rules: [erc20({ roleId, minToken: '1500.5' }), erc721({ tokenId: '1' })],
    ...more,
  };
}

/** Sends a check until the rate of its app allows it. @throws Error unless it is accepted */
export async function sendCheck(system: RunningSystem, app: UpgradedApp, sent: Sent): Promise<AcceptedCheck> {
  const headers = sent.key === undefined ? {} : { 'idempotency-key': sent.key };
  const answer = await withinRate(app, () => app.client.check(bodyOf(system, sent), headers));
  const { requestId } = answer.body;
  if (answer.status >= 300 || requestId === undefined)
    throw new Error(`${app.name}: the check was answered ${answer.status} ${answer.text}`);
  app.used++;
  return { app, mode: sent.mode, requestId, ...(sent.mode === 'sync' && { text: answer.text }) };
}

/** Polls a check once. */
export const pollCheck = (app: UpgradedApp, requestId: string): Promise<Answer> =>
  withinRate(app, () => app.client.poll(requestId));

/** Asks again while the rate of the app's tier refuses the request. */
const withinRate = ({ name }: UpgradedApp, ask: () => Promise<Answer>): Promise<Answer> =>
  waitUntil(`the rate of ${name} to allow a request`, async () => {
    const answer = await ask();
    return answer.body.code !== 'rate-limited' && answer;
  });

/** Nothing is left to do but the retries of the second tier. */
async function untilAtRest(
  system: RunningSystem,
  open: OpenSystem,
  { healthy }: Receivers,
  { finished, retrying, stopped }: Pick<Checks, 'finished' | 'retrying' | 'stopped'>,
): Promise<void> {
  await waitUntilProcessed(open, CONSUMER_GROUPS.lanes.bulk, checkRequestedBulk.name);
  await waitUntilProcessed(open, CONSUMER_GROUPS.results, checkCompleted.name);
  await waitUntilProcessed(open, CONSUMER_GROUPS.webhooks, checkCompleted.name);
  for (const { requestId, mode } of finished)
    if (mode === 'webhook') await healthy.waitFor((webhook) => webhook.requestId === requestId);
  for (const { requestId } of stopped)
    await waitUntil('the delivery to be stopped', async () => {
      return (await showWebhook(system, requestId)).state === 'stopped';
    });
  await waitUntil('every retry to be in the second tier', async () => {
    const lag = (await readLag(open.kafka.admin))[CONSUMER_GROUPS.webhookRetries];
    return lag?.[webhookRetry['5s'].name] === 0 && lag?.[webhookRetry['5m'].name] === retrying.length;
  });
}

const readResults = (checks: readonly AcceptedCheck[]): Promise<AcceptedCheck[]> =>
  Promise.all(
    checks.map(async (check) => ({
      ...check,
      text: await waitUntil(`the result of ${check.requestId}`, async () => {
        const { status, text } = await pollCheck(check.app, check.requestId);
        return status === 200 && text;
      }),
    })),
  );

async function readAttempts(
  system: RunningSystem,
  checks: readonly AcceptedCheck[],
): Promise<AcceptedCheck[]> {
  const read: AcceptedCheck[] = [];
  for (const check of checks)
    read.push({ ...check, attempts: (await showWebhook(system, check.requestId)).attempts.length });
  return read;
}

/** A delivery as the operator's command of the running version shows it: another version may not know its view. */
export async function showWebhook(system: RunningSystem, requestId: string) {
  const { value } = await system.admin('webhook', 'show', requestId);
  return value as { readonly state: string; readonly attempts: readonly unknown[] };
}

async function times<T>(count: number, act: (index: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let i = 0; i < count; i++) made.push(await act(i));
  return made;
}
