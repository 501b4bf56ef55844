type RepeatOptions = {
  /** From the end of one run to the start of the next. */
  readonly intervalMs: number;
  /** Whether the first run starts at once. Default: after the first interval. */
  readonly startsAtOnce?: boolean;
  /** Called when a run fails; the next run starts nevertheless. Default: the failure is ignored. */
  readonly onError?: (error: unknown) => void;
};

export type Repetition = AsyncDisposable & {
  /** Runs once now, in addition; never throws. */
  readonly run: () => Promise<void>;
  /** Starts no further run, as disposal does; for an owner that is disposed synchronously. */
  readonly stop: () => void;
};

/**
 * Runs `work` periodically until disposal; one run never overlaps the next. Its timer does not keep
 * the process alive, and disposal does not wait for a run in progress.
 *
 * @example
 * const polling = scope.use(startRepeating(() => poll(), { intervalMs: 2_000, onError: (error) => log.debug({ error }) }));
 */
export function startRepeating(
  work: () => Promise<void> | void,
  { intervalMs, startsAtOnce = false, onError = () => undefined }: RepeatOptions,
): Repetition {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const run = async () => {
    try {
      await work();
    } catch (error) {
      onError(error);
    }
  };
  const schedule = () => {
    if (!isStopped) timer = setTimeout(() => void run().then(schedule), intervalMs).unref();
  };
  if (startsAtOnce) void run().then(schedule);
  else schedule();
  const stop = () => {
    isStopped = true;
    clearTimeout(timer);
  };
  return { run, stop, [Symbol.asyncDispose]: async () => stop() };
}
