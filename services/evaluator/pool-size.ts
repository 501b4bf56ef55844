import type { KafkaConnection } from '#shared/kafka/connect.ts';

const LOOK_INTERVAL_MS = 5_000;

export type PoolSize = AsyncDisposable & {
  /** Evaluators that share the endpoints' rates; at least 1. */
  readonly size: () => number;
};

/** Follows how many members the evaluators' consumer group has; keeps the last figure while the broker is away. */
export function startPoolSize(
  admin: Pick<KafkaConnection['admin'], 'describeGroups'>,
  groupId: string,
): PoolSize {
  let size = 1;
  const look = async () => {
    const { groups } = await admin.describeGroups([groupId]);
    size = Math.max(1, groups[0]?.members.length ?? 1);
  };
  const timer = setInterval(() => void look().catch(() => undefined), LOOK_INTERVAL_MS);
  timer.unref();
  return {
    size: () => size,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
    },
  };
}
