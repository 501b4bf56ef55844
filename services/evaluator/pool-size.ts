import type { KafkaConnection } from '#shared/kafka/connect.ts';

/** Between two looks where no rebalance calls for one: a member that died is noticed by those that stay. */
const LOOK_INTERVAL_MS = 5_000;

export type PoolSize = AsyncDisposable & {
  /** Evaluators that share the endpoints' rates; at least 1. */
  readonly size: () => number;
  /** Looks anew, at a rebalance. Never throws. */
  readonly look: () => Promise<void>;
};

/** Follows how many members the evaluators' consumer group has; keeps the last figure while the broker is away. */
export function startPoolSize(
  admin: Pick<KafkaConnection['admin'], 'describeGroups'>,
  groupId: string,
): PoolSize {
  let size = 1;
  const look = async () => {
    try {
      const { groups } = await admin.describeGroups([groupId]);
      size = Math.max(1, groups[0]?.members.length ?? size);
    } catch {
      // The broker is away: the last figure is as good as any.
    }
  };
  const timer = setInterval(() => void look(), LOOK_INTERVAL_MS);
  timer.unref();
  return {
    size: () => size,
    look,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
    },
  };
}
