import { setTimeout as delay } from 'node:timers/promises';
import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { LANES } from '#shared/contracts/checks/check-requested.ts';
import { CheckResult } from '#shared/contracts/checks/result.ts';
import { parseMessage } from '#shared/contracts/topic.ts';
import { bringsBody, checkOf, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { readTopicOffsets } from '#shared/kafka/topic-offsets.ts';
import { monthCounterKey } from '#shared/stores/checks/admit.ts';
import type { ReceivedWebhook } from '../../support/fakes/receive-webhooks.ts';
import { countRecords } from '../../support/infrastructure/topic-work.ts';
import { makeChainOracle } from '../../support/judges/chain-oracle.ts';
import type { Attempt, Faults, Ledger } from '../../support/judges/ledger.ts';
import { pollAll } from '../../support/judges/load.ts';
import type { Outcome } from '../fault.ts';
import type { BalancedClient } from '../system/balance.ts';
import type { ChaosSystem } from '../system/chaos-system.ts';

/** From the end of the fault: a check without a result by then is lost. */
const DRAIN_MS_MAX = 120_000;
/** To ask for one result: an hour of load has 300 000. */
const POLL_MS_MAX = 2;
const POLL_INTERVAL_MS = 200;
const SYNC_DEADLINE_MS = '10000';
const ANSWER_MARGIN_MS = 250;
/** Ids of one client that another client polls. */
const STRANGE_POLLS_MAX = 50;

/** Offending ids by broken promise. All lists are empty if every promise was kept. */
export type Broken = Faults & {
  /** Sync checks answered after their deadline. */
  readonly late: readonly string[];
  /** Webhooks that arrived before their result could be polled. */
  readonly early: readonly string[];
  /** Results that another client could see. */
  readonly leaked: readonly string[];
  /** The month's counter, if it has an impossible value. */
  readonly miscounted: readonly string[];
};

export type Judgement = { readonly outcome: Outcome; readonly broken: Broken };

type Case = {
  readonly system: ChaosSystem;
  readonly ledger: Ledger;
  readonly client: BalancedClient;
  readonly stranger: BalancedClient;
  readonly clientId: string;
  readonly deliveries: readonly ReceivedWebhook[];
  readonly early: readonly string[];
  /** Ends of the topics before the row. */
  readonly ends: TopicEnds;
  /** Default 120 s; the time to ask for the results comes on top. */
  readonly drainMsMax?: number | undefined;
  /** The longest pause of this process itself: not the fault of the gateways. */
  readonly ownDelayMs: number;
};

/** Waits until everything acknowledged is finished, and checks the promises of README.md. */
export async function reconcile(it: Case): Promise<Judgement> {
  const { system, ledger, client } = it;
  const began = performance.now();
  const ids = ledger.acknowledgedIds();
  const giveUpAt = began + (it.drainMsMax ?? DRAIN_MS_MAX) + ids.length * POLL_MS_MAX;
  const polled = await pollAll(ids, client, giveUpAt);
  const givenUp = await untilDelivered(it, giveUpAt);
  const drainMs = performance.now() - began;
  const deliveries = it.deliveries.map((delivery) => ({
    ...delivery,
    accepted: delivery.status !== undefined && delivery.status >= 200 && delivery.status < 300,
  }));
  const oracle = makeChainOracle(system.chain.rpc, system.chain);
  const reconciliation = await ledger.reconcile({ polled, deliveries, givenUp, oracle });
  const ends = await topicEnds(system);
  const evaluatedOnce = ends.requested - it.ends.requested;
  const evaluated = ends.completed - it.ends.completed + (await countResults(system, it.ends.webhooks));
  const outcome = {
    ...reconciliation,
    polled,
    deliveries: it.deliveries,
    drainMs,
    evaluatedOnce,
    evaluatedAgain: Math.max(0, evaluated - evaluatedOnce),
  };
  const deadlineMs = Number(system.environment['SYNC_DEADLINE_MS'] ?? SYNC_DEADLINE_MS);
  const broken = {
    ...reconciliation.faults,
    late: ledger.attempts
      .filter((attempt) => isLate(attempt, deadlineMs + it.ownDelayMs))
      .map((attempt) => `${nameOf(attempt)} (${attempt.tookMs} ms)`),
    early: it.early,
    leaked: await findLeaks(it.stranger, [...polled.keys()].slice(0, STRANGE_POLLS_MAX)),
    miscounted: await judgeCounter(it, outcome),
  };
  return { outcome, broken };
}

/** Waits for the deliveries; returns the ids of those that are reported as exhausted or stopped. */
async function untilDelivered(it: Case, giveUpAt: number): Promise<Set<string>> {
  const awaited = it.ledger.attempts.filter(
    ({ mode, requestId }) => mode === 'webhook' && requestId !== undefined,
  );
  const givenUp = new Set<string>();
  for (;;) {
    const taken = new Set(
      it.deliveries.filter(({ status = 0 }) => status >= 200 && status < 300).map((d) => d.requestId),
    );
    const missing = awaited.flatMap(({ requestId: id = '' }) =>
      taken.has(id) || givenUp.has(id) ? [] : [id],
    );
    for (const id of missing) if (await isGivenUp(it.system, id)) givenUp.add(id);
    if (missing.every((id) => givenUp.has(id)) || performance.now() > giveUpAt) return givenUp;
    await delay(POLL_INTERVAL_MS);
  }
}

async function isGivenUp({ open }: ChaosSystem, requestId: string): Promise<boolean> {
  const delivery = await open.deliveries.read(requestId).catch(() => undefined);
  const isOver = delivery?.state === 'exhausted' || delivery?.state === 'stopped';
  return isOver && delivery.attempts.length > 0;
}

/** Whether an answer is late. A lost connection is not an answer, and the client sees that it was
 * lost. */
const isLate = ({ mode, status, tookMs = Number.POSITIVE_INFINITY }: Attempt, deadlineMs: number): boolean =>
  mode === 'sync' && status !== undefined && tookMs > deadlineMs + ANSWER_MARGIN_MS;

const nameOf = ({ requestId, rules }: Attempt): string => requestId ?? rules[0]?.roleId ?? '';

async function findLeaks(stranger: BalancedClient, ids: readonly string[]): Promise<string[]> {
  const leaked: string[] = [];
  for (const id of ids) if ((await stranger.poll(id)).status !== 404) leaked.push(id);
  return leaked;
}

/** `miscounted`: acknowledged − refunded (at most those without a decision) ≤ the month's counter ≤
 * acknowledged + indeterminate. */
async function judgeCounter(it: Case, { counts, polled }: Outcome): Promise<string[]> {
  const undecided = [...polled.values()].filter(
    (text) => CheckResult.parse(JSON.parse(text)).roles.length === 0,
  );
  const month = new Date(it.system.open.clock.now()).toISOString().slice(0, 'YYYY-MM'.length);
  const least = counts.acknowledged - undecided.length;
  const most = counts.acknowledged + counts.indeterminate;
  const counted = Number(await it.system.open.redis.get(monthCounterKey(it.clientId, month)));
  return counted >= least && counted <= most ? [] : [`${counted}, not from ${least} to ${most}`];
}

type TopicEnds = {
  readonly requested: number;
  /** Results of checks without a webhook. */
  readonly completed: number;
  /** Where each partition of the webhooks ends. */
  readonly webhooks: ReadonlyMap<number, number>;
};

/** How many records the topics of checks have ever had. */
export async function topicEnds({ open }: ChaosSystem): Promise<TopicEnds> {
  const { admin } = open.kafka;
  const [requested, completed, offsets] = await Promise.all([
    countRecords(admin, Object.values(LANES)),
    countRecords(admin, [checkCompleted]),
    readTopicOffsets(admin, webhookRequested.name),
  ]);
  const webhooks = new Map([...offsets].map(([partition, { high }]) => [partition, high]));
  return { requested, completed, webhooks };
}

/** The results of checks among the webhooks since then; the others are events, alerts and
 * resends. */
async function countResults({ open }: ChaosSystem, from: TopicEnds['webhooks']): Promise<number> {
  let count = 0;
  await open.kafka.readTopic({
    topic: webhookRequested.name,
    from,
    async apply(records) {
      for (const { value } of records) if (isResult(value)) count += 1;
    },
  });
  return count;
}

function isResult(value: Buffer | null): boolean {
  try {
    const webhook = parseMessage(webhookRequested, value);
    return bringsBody(webhook) && checkOf(webhook) !== undefined;
  } catch {
    // A poison record of a row.
    return false;
  }
}
