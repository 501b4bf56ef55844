import { parseMessage, type Topic } from '#shared/contracts/topic.ts';
import { isRetriable, ServiceError } from '#shared/errors.ts';
import { keepNewest } from '#shared/stores/documents/versioned-documents.ts';
import type { PrintLines } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';
import { type Exported, FORMAT, KIND_NAMES, kindOf, noCounts, type Versioned } from './documents.ts';

/**
 * Exports accounts, client apps, rule sets, watches and members as NDJSON, from the compacted
 * topics, while the system runs. What belongs to something that is made meanwhile is left out, so
 * an export is whole in itself. Memory: the newest document of each key of one topic, so about 1 GB
 * for a million members.
 *
 * @param accountId the only account that is exported, with all that belongs to it; absent: all
 */
export const exportSystem =
  ({ kafka, now }: Pick<OpenSystem, 'kafka' | 'now'>, accountId?: string): PrintLines =>
  async (write) => {
    const at = new Date(now()).toISOString();
    const exported: Exported = { accounts: new Set(), clientApps: new Set(), watches: new Set() };
    const counts = noCounts();
    for (const name of KIND_NAMES) {
      const { topic, isWanted, note } = kindOf(name);
      const only = name === 'accounts' ? accountId : undefined;
      for (const [key, document] of await readNewest(kafka, topic)) {
        if ((only !== undefined && key !== only) || !isWanted(document, exported)) continue;
        note?.(document, exported);
        await write(JSON.stringify({ kind: name, document }));
        counts[name]++;
      }
    }
    await write(JSON.stringify({ kind: 'end', format: FORMAT, at, counts }));
  };

/**
 * The newest document of each key of a compacted topic. Of two the one with the higher version
 * counts, whatever their order: an older one may stand behind it for a moment.
 *
 * @throws ServiceError `message-unreadable`, so that no export lacks a document without a word
 */
async function readNewest<D extends Versioned>(
  { readTopic }: Pick<OpenSystem['kafka'], 'readTopic'>,
  topic: Topic<D>,
): Promise<ReadonlyMap<string, D>> {
  const newest = new Map<string, D>();
  let unreadable: unknown;
  await readTopic({
    topic: topic.name,
    async apply(records) {
      for (const { key, value } of records) {
        const name = String(key);
        if (value === null) newest.delete(name);
        else
          try {
            keepNewest(newest, name, parseMessage(topic, value));
          } catch (error) {
            // Thrown here, it would have the records read again.
            if (isRetriable(error)) throw error;
            unreadable ??= error;
          }
      }
    },
  });
  if (unreadable !== undefined)
    throw new ServiceError('message-unreadable', `${topic.name} has a record that cannot be read`, {
      cause: unreadable,
    });
  return newest;
}
