const LOOK_INTERVAL_MS = 2_000;
/** Two looks may fail, or one hang, before it counts as away. */
const SILENT_MS_MAX = 5_000;

export type ReachWatch = AsyncDisposable & {
  /** True while it answers. */
  readonly check: () => true | string;
};

/**
 * Looks every 2 s whether a dependency answers. One that is frozen hangs the look or keeps its connection open: it
 * counts as away all the same.
 *
 * @param what as in "the broker" is away
 *
 * @example
 * const watch = startReachWatch('the broker', () => admin.describeCluster());
 * readiness.add('broker', watch.check);
 */
export function startReachWatch(what: string, reach: () => Promise<unknown>): ReachWatch {
  let answeredAtMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const look = async () => {
    const answered = await reach().then(
      () => true,
      () => false,
    );
    if (answered) answeredAtMs = performance.now();
    if (!isStopped) timer = setTimeout(() => void look(), LOOK_INTERVAL_MS).unref();
  };
  timer = setTimeout(() => void look(), LOOK_INTERVAL_MS).unref();
  return {
    check: () => performance.now() - answeredAtMs <= SILENT_MS_MAX || `${what} is away`,
    async [Symbol.asyncDispose]() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
