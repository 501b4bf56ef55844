/**
 * Waits for several resources that are being started at the same time, and disposes of them at the
 * same time: a start and a stop take as long as the slowest of them. If one fails to start, the
 * others are disposed of.
 *
 * @throws the first failed start's error, once the others have been disposed of
 *
 * @example
 * scope.use(await startTogether([kafka.consume(first), kafka.consume(second)]));
 */
export async function startTogether(starting: readonly Promise<AsyncDisposable>[]): Promise<AsyncDisposable> {
  const settled = await Promise.allSettled(starting);
  const started = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const dispose = async () => {
    await Promise.all(started.map((resource) => resource[Symbol.asyncDispose]()));
  };
  const failed = settled.find((each) => each.status === 'rejected');
  if (failed) {
    await dispose();
    throw failed.reason;
  }
  return { [Symbol.asyncDispose]: dispose };
}
