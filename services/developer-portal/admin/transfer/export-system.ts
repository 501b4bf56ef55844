import { parseMessage, type Topic } from '#shared/contracts/topic.ts';
import { isRetriable, ServiceError } from '#shared/errors.ts';
import { keepNewest } from '#shared/stores/documents/versioned-documents.ts';
import type { PrintLines } from '../command-line.ts';
import type { OpenSystem } from '../open-system.ts';
import { FORMAT, KIND_NAMES, kindOf, noCounts, type Versioned } from './documents.ts';

type ExportOptions = {
  readonly accountId?: string | undefined;
  readonly withoutUnreadable?: boolean;
};

/**
 * Exports accounts, client apps, rule sets, watches and members as NDJSON, from the compacted
 * topics, while the system runs. What belongs to something that is made meanwhile is left out, so
 * an export is whole in itself. Memory: the newest document of each key of one topic, so about 1 GB
 * for a million members.
 *
 * @param accountId the only account that is exported, with all that belongs to it; absent: all
 * @param withoutUnreadable leaves records out that cannot be read; the last line counts them
 */
export const exportSystem =
  (
    { kafka, now }: Pick<OpenSystem, 'kafka' | 'now'>,
    { accountId, withoutUnreadable = false }: ExportOptions = {},
  ): PrintLines =>
  async (write) => {
    const at = new Date(now()).toISOString();
    /** What may have something that belongs to it. */
    const exported = new Set<string>();
    const counts = noCounts();
    let unreadable = 0;
    for (const name of KIND_NAMES) {
      const { topic, isLive, ownerOf, idOf } = kindOf(name);
      const { newest, faults } = await readNewest(kafka, topic);
      if (faults.length > 0 && !withoutUnreadable) throw unreadableRecords(topic.name, faults);
      unreadable += faults.length;
      for (const [key, document] of newest) {
        const isAsked = ownerOf ? exported.has(ownerOf(document)) : (accountId ?? key) === key;
        if (!isAsked || !isLive(document)) continue;
        if (idOf) exported.add(idOf(document));
        await write(JSON.stringify({ kind: name, document }));
        counts[name]++;
      }
    }
    await write(
      JSON.stringify({ kind: 'end', format: FORMAT, at, counts, ...(unreadable > 0 && { unreadable }) }),
    );
  };

/**
 * The newest document of each key of a compacted topic. Of two the one with the higher version
 * counts, whatever their order: an older one may stand behind it for a moment. Records that cannot
 * be read are named, so that no export lacks a document without a word.
 */
async function readNewest<D extends Versioned>(
  { readTopic }: Pick<OpenSystem['kafka'], 'readTopic'>,
  topic: Topic<D>,
): Promise<{ readonly newest: ReadonlyMap<string, D>; readonly faults: readonly Fault[] }> {
  const newest = new Map<string, D>();
  const faults = new Map<string, Fault>();
  await readTopic({
    topic: topic.name,
    async apply(records, partition) {
      for (const { key, value, offset } of records) {
        const name = String(key);
        // A later record of the key replaces one that cannot be read.
        faults.delete(name);
        if (value === null) newest.delete(name);
        else
          try {
            keepNewest(newest, name, parseMessage(topic, value));
          } catch (error) {
            // Thrown here, it would have the records read again.
            if (isRetriable(error)) throw error;
            faults.set(name, { partition, offset, key: name, error });
          }
      }
    },
  });
  return { newest, faults: [...faults.values()] };
}

type Fault = {
  readonly partition: number;
  readonly offset: string;
  readonly key: string;
  readonly error: unknown;
};

/** Records that are named in one message. */
const NAMED_MAX = 5;

function unreadableRecords(topic: string, faults: readonly Fault[]): ServiceError {
  const named = faults
    .slice(0, NAMED_MAX)
    .map(({ partition, offset, key }) => `${partition}/${offset} (${key})`);
  const more = faults.length > named.length ? `, and ${faults.length - named.length} more` : '';
  return new ServiceError(
    'message-unreadable',
    `${topic} has records that cannot be read, by partition/offset (key): ${named.join(', ')}${more}; --without-unreadable leaves them out`,
    { cause: faults[0]?.error },
  );
}
