import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { checkRequestedInteractive } from '#shared/contracts/checks/check-requested.ts';
import { parseMessage } from '#shared/contracts/topic.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault, Scene } from '../../fault.ts';
import { atLeast } from '../../judges/measure.ts';
import { rewindRedis } from '../../system/rewind-redis.ts';

const KILLS_MIN = 2;
/** Checks that two evaluators get. */
const DOUBLED = 50;
const DIE_TIMEOUT_MS = 60_000;

export const f41SyncSave: Fault = {
  id: 'F41',
  title:
    'kill -9 evaluators between the save of a sync result and its publish; two evaluators with one check; Redis without its last second',
  async run(scene) {
    const { system, ledger, seconds, rest } = scene;
    const fromMs = Date.now();
    let killedCount = 0;
    for (const endMs = fromMs + seconds * 1_000; killedCount < KILLS_MIN || Date.now() < endMs; )
      killedCount += await killAfterSave(scene);
    const doubledCount = await double(scene, fromMs);
    const { lostBytes } = await rewindRedis({ system, rest });
    await rest(5_000);
    return async () => {
      const published = await readPublished(scene, fromMs);
      const told = ledger.attempts.flatMap(({ mode, startedAt, requestId = '', answered }) =>
        mode === 'sync' && startedAt >= fromMs && answered !== undefined ? [{ requestId, answered }] : [],
      );
      const isOther = ({ requestId, answered }: (typeof told)[number]) => {
        const copies = published.get(requestId) ?? [];
        return copies.length === 0 || copies.some((resultJson) => resultJson !== answered);
      };
      const copied = [...published.values()].filter((copies) => copies.length > 1);
      return {
        figures: [
          atLeast('evaluators killed after a save', killedCount, KILLS_MIN),
          atLeast('sync results published twice', copied.length, doubledCount + KILLS_MIN),
          atLeast('writes lost', lostBytes / 1_024, 1, 'KiB'),
        ],
        broken: told
          .filter(isOther)
          .map(({ requestId }) => `${requestId} was told as other bytes than were published`),
      };
    };
  },
};

/** Lets the evaluator die that saves a sync result next: some may have no such check. Returns how many
 * died. */
async function killAfterSave({ system }: Scene): Promise<number> {
  const armed = system.signal('evaluator', 'SIGHUP');
  const left = () => {
    const running = new Set(system.running('evaluator').map(({ pid }) => pid));
    return armed.filter((pid) => running.has(pid));
  };
  await waitUntil('an evaluator to die after a save', () => left().length < armed.length, DIE_TIMEOUT_MS);
  for (const pid of left()) {
    try {
      process.kill(pid, 'SIGHUP');
    } catch {
      // It has died meanwhile.
    }
  }
  await system.waitUntilReady();
  return armed.length - left().length;
}

/** Publishes the newest sync checks again to the partitions of other evaluators. */
async function double({ system: { open } }: Scene, sinceMs: number): Promise<number> {
  const records: { key: string; value: Buffer | null; partition: number }[] = [];
  const { name, partitionCount } = checkRequestedInteractive;
  await open.kafka.readTopic({
    topic: name,
    sinceMs,
    apply: async (read, partition) => {
      for (const { key, value } of read) records.push({ key: key?.toString() ?? '', value, partition });
    },
  });
  const chosen = records.slice(-DOUBLED);
  for (const { key, value, partition } of chosen) {
    const other = (partition + partitionCount / 2) % partitionCount;
    await open.kafka.publishRecord(name, { key, value, partition: other });
  }
  return new Set(chosen.map(({ key }) => key)).size;
}

/** The results of sync checks in their topic, by id, each as often as it is there. */
async function readPublished({ system: { open } }: Scene, sinceMs: number): Promise<Map<string, string[]>> {
  const published = new Map<string, string[]>();
  await open.kafka.readTopic({
    topic: checkCompleted.name,
    sinceMs,
    apply: async (read) => {
      for (const { value } of read) {
        const { requestId, mode, resultJson } = parseMessage(checkCompleted, value);
        if (mode === 'sync') published.set(requestId, [...(published.get(requestId) ?? []), resultJson]);
      }
    },
  });
  return published;
}
