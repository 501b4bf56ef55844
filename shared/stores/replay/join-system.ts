import type { CommonConfig } from '#shared/config.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { inStore } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';
import { startRepeating } from '#shared/repeat.ts';
import type { ServiceContext } from '#shared/service-context.ts';
import { pause } from '#shared/wait-for.ts';

const KEYS = {
  /** The id of the Kafka cluster whose records are in this Redis. */
  kafka: 'system:kafka',
  /** Present while a process of the system uses this Redis. */
  running: 'system:running',
} as const;

const BEAT_MS = 2_000;
/** Several beats: a pause of every process, or of Redis, is no absence. */
const RUNNING_MS = 10_000;
const LOOK_MS = 200;

/**
 * KEYS: Kafka's id, running. ARGV: the id that the process has, ms until it no longer counts as
 * running. Returns the id that is stored: another one is left alone.
 *
 * NOTE: a Redis at its bound refuses SET and allows PEXPIRE.
 */
const BEAT = `
local known = redis.call('GET', KEYS[1])
if known and known ~= ARGV[1] then return known end
if not known then redis.call('SET', KEYS[1], ARGV[1]) end
if redis.call('PEXPIRE', KEYS[2], ARGV[2]) == 0 then redis.call('SET', KEYS[2], '1', 'PX', ARGV[2]) end
return ARGV[1]
`;

type Dependencies = {
  readonly kafka: Pick<KafkaConnection, 'clusterId'> & {
    readonly admin: Pick<KafkaConnection['admin'], 'describeGroups'>;
  };
  readonly redis: Redis;
  readonly config: { readonly kafka: Pick<CommonConfig['kafka'], 'sessionTimeoutMs'> };
  readonly context: Pick<ServiceContext, 'log' | 'stopping' | 'fail'>;
};

/**
 * Makes sure that this Redis is the one that the system on this Kafka uses, and from then on tells
 * other processes so. To be called before a process joins a group or publishes.
 *
 * Redis stores the id of the Kafka cluster whose records it holds. Where it stores none, it is new
 * or was wiped, which is right if no process of the system uses another Redis: members of the
 * system's groups must either show themselves in this Redis or be gone. A member that has died is
 * listed until its session is over, hence the wait.
 *
 * @throws ServiceError `config-invalid` in one sentence if Kafka and Redis belong to two systems
 */
export async function joinSystem(dependencies: Dependencies): Promise<AsyncDisposable> {
  const { kafka, redis, config, context } = dependencies;
  const mark = makeScript<string>(redis, BEAT);
  const beat = async () => requireOwn(await mark(Object.values(KEYS), [kafka.clusterId, RUNNING_MS]), kafka);
  const isInUse = async (): Promise<boolean> => {
    const [known, running] = await inStore(() => redis.mget(KEYS.kafka, KEYS.running));
    if (known) requireOwn(known, kafka);
    return running === '1';
  };
  const giveUpAt = performance.now() + config.kafka.sessionTimeoutMs + 2 * BEAT_MS;
  while (!(await isInUse())) {
    const members = await findMembers(dependencies);
    if (members === 'none') break;
    context.stopping.throwIfAborted();
    if (performance.now() > giveUpAt) throw refusalFor(members);
    await pause(LOOK_MS, context.stopping);
  }
  await beat();
  return startRepeating(beat, {
    intervalMs: BEAT_MS,
    // Another Redis behind the same name: whatever this process wrote would be in the wrong system.
    onError: (error) => {
      if (error instanceof ServiceError && error.code === 'config-invalid') context.fail(error);
    },
  });
}

function requireOwn(known: string, { clusterId }: Dependencies['kafka']): void {
  if (known !== clusterId)
    throw new ServiceError(
      'config-invalid',
      `REDIS_URL and KAFKA_BROKERS name two systems: this Redis holds what is on the Kafka cluster ${known}, and this is the cluster ${clusterId}`,
    );
}

const GROUPS: readonly string[] = Object.values(CONSUMER_GROUPS).flatMap((group) =>
  typeof group === 'string' ? [group] : Object.values(group),
);

type Members = 'some' | 'none' | { readonly failed: unknown };

async function findMembers({ kafka, context }: Dependencies): Promise<Members> {
  try {
    const { groups } = await kafka.admin.describeGroups([...GROUPS]);
    return groups.some(({ members }) => members.length > 0) ? 'some' : 'none';
  } catch (failed) {
    // A new cluster has no coordinator for a moment.
    if ((failed as { readonly type?: string }).type !== 'GROUP_AUTHORIZATION_FAILED') return { failed };
    const advice =
      'cannot tell whether processes of this system use another Redis: allow Describe on its groups';
    context.log.warn(advice);
    return 'none';
  }
}

const refusalFor = (members: Members): ServiceError =>
  typeof members === 'object'
    ? new ServiceError('broker-unavailable', 'the consumer groups could not be read', {
        cause: members.failed,
      })
    : new ServiceError(
        'config-invalid',
        'REDIS_URL names another Redis than the one that the running processes of this system use: set it as they have it, or stop them all first',
      );
