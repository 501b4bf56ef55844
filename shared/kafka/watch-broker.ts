import type { Admin } from 'kafkajs';

const LOOK_INTERVAL_MS = 2_000;
/** Two looks may fail, or one hang, before the broker counts as away. */
const SILENT_MS_MAX = 5_000;

export type BrokerWatch = AsyncDisposable & { readonly check: () => true | string };

/**
 * Looks every 2 s whether a broker answers. A broker that is frozen hangs the look: it counts as away all the same.
 *
 * @example
 * const watch = startBrokerWatch(admin);
 * readiness.add('broker', watch.check);
 */
export function startBrokerWatch(admin: Pick<Admin, 'describeCluster'>): BrokerWatch {
  let answeredAtMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const look = async () => {
    const answered = await admin.describeCluster().then(
      () => true,
      () => false,
    );
    if (answered) answeredAtMs = performance.now();
    if (!isStopped) timer = setTimeout(() => void look(), LOOK_INTERVAL_MS).unref();
  };
  timer = setTimeout(() => void look(), LOOK_INTERVAL_MS).unref();
  return {
    check: () => performance.now() - answeredAtMs <= SILENT_MS_MAX || 'the broker is away',
    async [Symbol.asyncDispose]() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
