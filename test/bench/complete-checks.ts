import { setTimeout as delay } from 'node:timers/promises';
import { readLag } from '#shared/kafka/lag.ts';
import { type BenchSystem, type CpuSeconds, sumOf, usedBetween } from './bench-system.ts';
import { postChecks } from './post-checks.ts';
import type { Workload } from './workload.ts';

const LOOK_INTERVAL_MS = 50;
const LOOKED_AT = 200;
/** A result that is not there so long after the one before it is lost. */
const RESULT_WAIT_MS_MAX = 60_000;
/** What passes over a result without storing it is done by then too. */
const TRAIL_MS = 300;

export type Completed = {
  readonly used: CpuSeconds;
  /** From the first request to the last stored result. */
  readonly seconds: number;
  readonly count: number;
  /** Of the requests, sorted. */
  readonly tookMs: readonly number[];
};

export type CompleteOptions = {
  readonly workload: Workload;
  readonly from: number;
  readonly count: number;
  readonly mode?: 'sync' | 'poll';
  /** Results are sent there as well. */
  readonly callbackUrl?: string;
  /** Default: the demo app alone. */
  readonly apiKeys?: readonly string[];
};

/** What so many checks took of each process. */
export type Used = Pick<Completed, 'used' | 'count'>;

/** CPU seconds of one check, of all processes. */
export const cpuOf = ({ used, count }: Used): number => sumOf(used) / count;

/**
 * Sends checks to a system and waits for every result, each of which is looked at.
 *
 * @throws Error if a check is refused, lost or wrong: there is no figure then
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

/** The results of the ids, in their order, read as they come. @throws Error where one does not come */
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
    else await delay(LOOK_INTERVAL_MS);
  }
  return results;
}

/** Which checks have no result, and what the groups still have before them: a stall is told from a loss by it. */
async function describeMissing(
  { results, kafka }: BenchSystem['open'],
  requestIds: readonly string[],
): Promise<Error> {
  const found = await results.readMany(requestIds);
  const missing = requestIds.filter((_, place) => found[place] === undefined);
  const lag = JSON.stringify(await readLag(kafka.admin));
  return new Error(`${missing.length} checks have no result, the first of them ${missing[0]}; lag ${lag}`);
}
