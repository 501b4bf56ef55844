import { setTimeout as delay } from 'node:timers/promises';
import type { Usage } from '#shared/contracts/usage.ts';
import { describeError } from '#shared/errors.ts';
import type { UsageFigures } from '#shared/redis/usage.ts';
import type { Logger } from '#shared/telemetry/log.ts';

/** How often the hour's totals are published: what is accepted since is counted from the lanes in a rebuild. */
const PUBLISH_INTERVAL_MS = 60_000;
/** Apps by hour whose last published figures are remembered, so that what did not change is not written again. */
const REMEMBERED_MAX = 100_000;

type Dependencies = {
  readonly figures: Pick<UsageFigures, 'readRecent' | 'lockPublishing'>;
  readonly publish: (usage: Usage) => Promise<void>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
  readonly log: Logger;
};

/** Publishes what changed since it was published last, if no other process is at it. */
export function makePublishUsage({ figures, publish, now }: Dependencies): () => Promise<void> {
  const published = new Map<string, string>();
  return async function publishUsage() {
    if (!(await figures.lockPublishing(PUBLISH_INTERVAL_MS - 1_000))) return;
    if (published.size > REMEMBERED_MAX) published.clear();
    for (const usage of await figures.readRecent(now())) {
      const { asOf: _, ...totals } = usage;
      const place = `${usage.clientId}/${usage.hour}`;
      const text = JSON.stringify(totals);
      if (published.get(place) === text) continue;
      await publish(usage);
      published.set(place, text);
    }
  };
}

/** Publishes the usage of client apps once a minute until disposal. */
export function startPublishingUsage(deps: Dependencies): AsyncDisposable {
  const publishUsage = makePublishUsage(deps);
  const ended = new AbortController();
  const publishing = (async () => {
    while (!ended.signal.aborted) {
      await publishUsage().catch((error: unknown) =>
        deps.log.warn({ error: describeError(error) }, 'usage not published'),
      );
      await delay(PUBLISH_INTERVAL_MS, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      ended.abort();
      await publishing;
    },
  };
}
