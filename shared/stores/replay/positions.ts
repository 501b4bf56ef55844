import { ServiceError } from '#shared/errors.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { VIEW_KEYS } from '#shared/redis/fence.ts';
import { makeScript, REQUIRE_RESULTS, REQUIRE_VIEW } from '#shared/redis/script.ts';

/**
 * KEYS: positions. ARGV: for each partition its name, its offset, and the offset that this process
 * was last told is there. A Redis that has a lower one has lost writes unnoticed. While a replay
 * brings results back, the positions are those that it began at.
 */
const SAVE = `${REQUIRE_VIEW}
local acceptedAtMs = 0
${REQUIRE_RESULTS}for i = 1, #ARGV, 3 do
  if tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or '0') < tonumber(ARGV[i + 2]) then
    redis.call('DEL', ofSystem('${VIEW_KEYS.marker}'))
    return redis.error_reply('VIEW_REBUILDING writes were lost')
  end
end
for i = 1, #ARGV, 3 do
  if tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or '-1') < tonumber(ARGV[i + 1]) then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
return 1
`;

type PartitionOffset = {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
};

export const positionName = (topic: string, partition: number): string => `${topic}/${partition}`;

/**
 * Makes the function that stores in Redis up to which offset a topic is applied to the views,
 * before the same offset is committed in Kafka. So Redis is behind Kafka only if it has lost
 * writes; its offsets then say where to read again.
 *
 * @throws ServiceError `view-rebuilding` if Redis has lost writes; from then on all processes wait
 *   for the rebuild
 */
export function makeSavePositions(redis: Redis): (positions: readonly PartitionOffset[]) => Promise<void> {
  const save = makeScript<number>(redis, SAVE);
  const acknowledged = new Map<string, number>();
  return async function savePositions(positions) {
    const named = positions.map(({ topic, partition, offset }) => ({
      name: positionName(topic, partition),
      offset,
    }));
    const args = named.flatMap(({ name, offset }) => [name, offset, acknowledged.get(name) ?? 0]);
    try {
      await save([VIEW_KEYS.positions], args);
      for (const { name, offset } of named) acknowledged.set(name, offset);
    } catch (error) {
      // Told once: the position is right after the repair. While Redis is away nothing is known.
      if (error instanceof ServiceError && error.code === 'view-rebuilding') acknowledged.clear();
      throw error;
    }
  };
}
