import { account, clientApp } from '#shared/contracts/apps/client-app.ts';
import { batchCompleted, checkRequestedBatch } from '#shared/contracts/batches/batch.ts';
import { LANES } from '#shared/contracts/checks/check-requested.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { ruleSet, tombstoneOf } from '#shared/contracts/rules/rule-set.ts';
import type { TopicSpec } from '#shared/contracts/topic.ts';
import { type Watch, watch, watchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import { webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { catchesUp } from '#shared/kafka/lag.ts';
import { ERASE_TIMEOUT_MS, type EraseRecord } from '#shared/stores/documents/versioned-documents.ts';
import type { Dependencies } from '../dependencies.ts';

/** Documents of each kind that are erased in one round. */
const COUNT_MAX = 1_000;
/** After its deletion an app is erased at the latest then: its secrets no longer sign. */
const SIGNS_MS = 2 * DAY_MS;
/** How long a round waits for the consumers to finish their records. */
const CATCH_UP_MS = 10_000;

/** The groups between an accepted check and its delivery, in the order of its records. */
const PIPELINE: readonly (readonly [groupId: string, topic: Pick<TopicSpec, 'name'>])[] = [
  [CONSUMER_GROUPS.lanes.bulk, LANES.bulk],
  [CONSUMER_GROUPS.batchLane, checkRequestedBatch],
  [CONSUMER_GROUPS.batchResults, batchCompleted],
  [CONSUMER_GROUPS.webhooks, webhookRequested],
];

/**
 * Erases deleted documents from the views and from the compacted topics, where compaction then
 * removes every record of it:
 *
 * | document | erased |
 * | --- | --- |
 * | account | at once |
 * | client app, with its deliveries, results and batches | when its last webhook has ended, which its secrets sign; after two days at the latest |
 * | rule set, watch | a day after its deletion: one that is made again continues its versions |
 * | member of a watch | an hour after its removal: longer than a record is on its way |
 *
 * The watches of an app are deleted by the watcher, as soon as they are due.
 */
export function makeEraseDeleted(deps: Dependencies) {
  const { kafka, clientApps, deliveries, now } = deps;
  const eraseFrom =
    (topic: TopicSpec): EraseRecord =>
    (key) =>
      kafka.erase(topic, key, ERASE_TIMEOUT_MS);

  const isCaughtUp = async (): Promise<boolean> => {
    for (const [groupId, { name }] of PIPELINE)
      if (!(await catchesUp(kafka.admin, groupId, name, CATCH_UP_MS))) return false;
    return true;
  };
  const hasOpenDelivery = async (clientId: string): Promise<boolean> => {
    let before: string | undefined;
    do {
      const page = await deliveries.page(clientId, { state: 'pending', before, countMax: 1 });
      if (page.deliveries.length > 0) return true;
      before = page.next;
    } while (before !== undefined);
    return false;
  };
  const eraseApp = async (clientId: string, nowMs: number): Promise<void> => {
    await endRuleSets(deps, clientId);
    // The watcher deletes a watch without an app when it looks at it next.
    for await (const page of deps.watches.pagesOf(clientId))
      for (const each of page) await deps.watches.setDue(watchUid(each), now());
    await deliveries.forget(clientId);
    const logged = await deps.checkLog.list(clientId);
    await deps.results.forget(logged.map(({ requestId }) => requestId));
    await deps.checkLog.forget(clientId);
    await deps.batchList.forget(clientId);
    // Last, so that a failure before it has everything tried again.
    await clientApps.erase(clientId, nowMs, eraseFrom(clientApp));
  };
  const eraseApps = async (): Promise<void> => {
    const nowMs = now();
    const ended = await clientApps.listEnded(nowMs, COUNT_MAX);
    if (ended.length === 0) return;
    // All that they were sent before is a delivery now, if it will ever be one.
    const areKnown = await isCaughtUp();
    for (const clientId of ended) {
      const deletedAt = (await clientApps.read(clientId))?.deletedAt;
      const signsUntilMs = deletedAt === undefined ? nowMs : Date.parse(deletedAt) + SIGNS_MS;
      if (signsUntilMs <= nowMs || (areKnown && !(await hasOpenDelivery(clientId))))
        await eraseApp(clientId, nowMs);
    }
  };

  // The watcher does so too; it may have been away.
  const forgetWatch = async (ended: Watch): Promise<boolean> => {
    const uid = watchUid(ended);
    if ((await deps.watchMembers.figures(uid)).members > 0) return false;
    await deps.followed.forget(ended);
    await deps.sweeps.forget(uid);
    await deps.watchChains.forget(uid);
    await deps.watchMembers.forget(uid);
    return true;
  };

  return async function eraseDeleted(): Promise<void> {
    await eraseApps();
    const untilMs = now();
    await deps.accounts.eraseEnded(untilMs, COUNT_MAX, eraseFrom(account));
    await deps.ruleSets.eraseEnded(untilMs, COUNT_MAX, eraseFrom(ruleSet));
    await deps.watches.eraseEnded(untilMs, COUNT_MAX, forgetWatch, eraseFrom(watch));
    // Until none is left: an app may remove thousands of members a minute.
    const eraseMember = eraseFrom(watchMember);
    while ((await deps.watchMembers.eraseRemoved(untilMs, COUNT_MAX, eraseMember)) === COUNT_MAX);
  };
}

/**
 * Deletes the rule sets of a client app that is gone, in the topic too, so that they do not outlive
 * it. The app's keys are revoked: no other process writes them.
 */
export async function endRuleSets(
  { ruleSets, kafka, now }: Pick<Dependencies, 'ruleSets' | 'kafka' | 'now'>,
  clientId: string,
): Promise<void> {
  for await (const page of ruleSets.pagesOf(clientId))
    for (const current of page) {
      const tombstone = tombstoneOf(current, new Date(now()).toISOString());
      await kafka.publish(ruleSet, tombstone);
      await ruleSets.project(tombstone);
    }
}
