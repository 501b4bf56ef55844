import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { startRepeating } from '#shared/repeat.ts';

/** Bounds how long a change of the group that caused no rebalance in this process goes
 * unnoticed. */
const POLL_INTERVAL_MS = 5_000;

/** Follows the number of members of the evaluators' consumer group; keeps the last figure while the
 * broker is away. */
export function startPoolSize(admin: Pick<KafkaConnection['admin'], 'describeGroups'>, groupId: string) {
  let size = 1;
  const polling = startRepeating(
    async () => {
      const { groups } = await admin.describeGroups([groupId]);
      size = Math.max(1, groups[0]?.members.length ?? size);
    },
    { intervalMs: POLL_INTERVAL_MS },
  );
  return {
    /** Evaluators that share the endpoints' rates; at least 1. */
    size: () => size,
    /** Reads the size again, after a rebalance. Never throws. */
    refresh: polling.run,
    [Symbol.asyncDispose]: () => polling[Symbol.asyncDispose](),
  };
}
