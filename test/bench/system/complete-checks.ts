import { setTimeout as delay } from 'node:timers/promises';
import { readLag } from '#shared/kafka/lag.ts';
import { type BenchSystem, type CpuSeconds, sumOf, usedBetween } from './bench-system.ts';
import { postChecks } from './post-checks.ts';
import type { SentWorkload } from './workload.ts';

const POLL_INTERVAL_MS = 50;
const LOOKED_AT = 200;
/** A result that takes this long after the one before it is lost. */
const RESULT_WAIT_MS_MAX = 60_000;
/** Long enough that consumers which skip a result without storing it are done too. */
const TRAIL_MS = 300;

export type Completed = {
  readonly used: CpuSeconds;
  /** From the first request to the last stored result. */
  readonly seconds: number;
  readonly count: number;
  /** The durations of the requests, sorted. */
  readonly tookMs: readonly number[];
};

export type CompleteOptions = {
  readonly workload: SentWorkload;
  readonly from: number;
  readonly count: number;
  readonly mode?: 'sync' | 'poll';
  /** The callback URL, if results are also sent as webhooks. */
  readonly callbackUrl?: string;
  /** Default: only the demo app. */
  readonly apiKeys?: readonly string[];
};

/** The cost of a number of checks, by process. */
export type Used = Pick<Completed, 'used' | 'count'>;

/** CPU seconds of one check over all processes. */
export const cpuOf = ({ used, count }: Used): number => sumOf(used) / count;

/**
 * Sends checks to a system, waits for every result and verifies each one.
 *
 * @throws Error if a check is refused, lost or wrong, so that no figure is reported
 */
export async function completeChecks(bench: BenchSystem, options: CompleteOptions): Promise<Completed> {
  const { workload, from, count, mode = 'poll', callbackUrl } = options;
  const { ready } = bench.system;
  const { apiKeys = [ready.app.apiKey] } = options;
  const before = bench.cpuSeconds();
  const began = performance.now();
  const { requestIds, tookMs } = await postChecks({
    url: ready.gateways[0] ?? '',
    apiKeys,
    workload,
    from,
    count,
    mode,
    callbackUrl,
  });
  const results = await readResults(bench, requestIds);
  const seconds = (performance.now() - began) / 1_000;
  await delay(TRAIL_MS);
  const used = usedBetween(before, bench.cpuSeconds());
  for (const [place, result] of results.entries()) workload.verify(from + place, result);
  return { used, seconds, count, tookMs };
}

/** The results of the ids, in their order, as they arrive. @throws Error if one is missing */
export async function readResults(
  { open }: Pick<BenchSystem, 'open'>,
  requestIds: readonly string[],
): Promise<string[]> {
  const results: string[] = [];
  let movedAt = performance.now();
  while (results.length < requestIds.length) {
    const asked = requestIds.slice(results.length, results.length + LOOKED_AT);
    const found = await open.results.readMany(asked);
    const whole = found.indexOf(undefined);
    const there = found.slice(0, whole < 0 ? found.length : whole);
    results.push(...there.flatMap((result) => result ?? []));
    if (there.length > 0) movedAt = performance.now();
    else if (performance.now() - movedAt > RESULT_WAIT_MS_MAX) throw await describeMissing(open, requestIds);
    else await delay(POLL_INTERVAL_MS);
  }
  return results;
}

/** The checks without a result, and the lag of the groups, to tell a stall from a loss. */
async function describeMissing(
  { results, kafka }: BenchSystem['open'],
  requestIds: readonly string[],
): Promise<Error> {
  const found = await results.readMany(requestIds);
  const missing = requestIds.filter((_, place) => found[place] === undefined);
  const lag = JSON.stringify(await readLag(kafka.admin));
  return new Error(`${missing.length} checks have no result, the first of them ${missing[0]}; lag ${lag}`);
}
