import { randomUUID } from 'node:crypto';
import { checkCompleted } from '#shared/contracts/check-completed.ts';
import { account, clientApp } from '#shared/contracts/client-app.ts';
import { parseMessage, type Topic } from '#shared/contracts/topic.ts';
import { webhookAttempted } from '#shared/contracts/webhook.ts';
import { isRetriable, ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { TopicRecord } from '#shared/kafka/read-topic.ts';
import type { Accounts } from '#shared/redis/accounts.ts';
import type { ClientApps } from '#shared/redis/client-apps.ts';
import type { Deliveries } from '#shared/redis/deliveries.ts';
import { type Results, savingOf } from '#shared/redis/results.ts';
import { REBUILD_LOCK_RENEW_MS, type ViewState } from '#shared/redis/view.ts';
import type { Logger } from '#shared/telemetry/log.ts';

export type Rebuild = {
  readonly kafka: Pick<KafkaConnection, 'readTopic'>;
  readonly views: ViewState;
  readonly accounts: Pick<Accounts, 'project'>;
  readonly clientApps: Pick<ClientApps, 'project'>;
  readonly results: Pick<Results, 'saveIfAbsent'>;
  readonly deliveries: Pick<Deliveries, 'record'>;
  /** Epoch ms: what was to be kept until before then is passed over. */
  readonly now: () => number;
  readonly log: Logger;
};

export type RebuildCounts = Readonly<Record<'accounts' | 'clientApps' | 'results' | 'attempts', number>>;

/** Records applied at once. Their commands share a round trip. */
const APPLY_BATCH_MAX = 500;

/**
 * Makes the Redis views again from the topics and then declares them whole.
 *
 * One process at a time, by a lock that every write checks; each topic in offset order, so that "the first result"
 * is the same one as it was. Whoever needs a view holds meanwhile.
 *
 * @returns what was applied, or nothing where another process is at it
 * @throws ServiceError `view-rebuilding` when Redis was wiped again meanwhile: to be begun anew
 */
export async function rebuildViews(rebuild: Rebuild): Promise<RebuildCounts | undefined> {
  const { views, log } = rebuild;
  const token = randomUUID();
  if (!(await views.lock(token))) return undefined;
  const lost = new AbortController();
  const renewal = setInterval(() => {
    views.renewLock(token).then(
      (held) => held || lost.abort(new ServiceError('view-rebuilding', 'the rebuild lock is lost')),
      (error) => lost.abort(error),
    );
  }, REBUILD_LOCK_RENEW_MS);
  try {
    const began = Date.now();
    const counts = await applyAll(rebuild, token, lost.signal);
    if (!(await views.finish(token))) throw new ServiceError('view-rebuilding', 'the rebuild lock is lost');
    log.info({ ...counts, durationMs: Date.now() - began }, 'views rebuilt');
    return counts;
  } finally {
    clearInterval(renewal);
  }
}

async function applyAll(rebuild: Rebuild, token: string, signal: AbortSignal): Promise<RebuildCounts> {
  const { accounts, clientApps, results, deliveries, now } = rebuild;
  const counts = { accounts: 0, clientApps: 0, results: 0, attempts: 0 };
  const follow = <M>(topic: Topic<M>, apply: (message: M) => Promise<unknown>) =>
    rebuild.kafka.readTopic({
      topic: topic.name,
      signal,
      apply: (records) => applyRecords(topic, records, apply, rebuild.log),
    });
  await follow(account, async (message) => {
    counts.accounts += Number(await accounts.project(message, token));
  });
  await follow(clientApp, async (message) => {
    counts.clientApps += Number(await clientApps.project(message, token));
  });
  await follow(checkCompleted, async (message) => {
    if (Date.parse(message.retainUntil) <= now()) return;
    await results.saveIfAbsent({ ...savingOf(message), access: token });
    counts.results++;
  });
  await follow(webhookAttempted, async (message) => {
    if (Date.parse(message.retainUntil) <= now()) return;
    await deliveries.record(message, token);
    counts.attempts++;
  });
  return counts;
}

/**
 * Applies records in order: sent together and answered together, since one connection keeps their order.
 * An unreadable record was dead-lettered by its consumer and is passed over here.
 */
async function applyRecords<M>(
  topic: Topic<M>,
  records: readonly TopicRecord[],
  apply: (message: M) => Promise<unknown>,
  log: Logger,
): Promise<void> {
  for (let i = 0; i < records.length; i += APPLY_BATCH_MAX) {
    const batch = records.slice(i, i + APPLY_BATCH_MAX).map(async ({ value, offset }) => {
      try {
        await apply(parseMessage(topic, value));
      } catch (error) {
        if (isRetriable(error)) throw error;
        log.warn({ topic: topic.name, offset }, 'record passed over in a rebuild');
      }
    });
    await Promise.all(batch);
  }
}
