import { setTimeout as delay } from 'node:timers/promises';
import { type ReceivedSpan, receiveSpans } from '../support/fakes/receive-spans.ts';
import { startBenchSystem } from './bench-system.ts';
import { type Hop, hopsOf, type Timed } from './hops.ts';
import { makeWorkload } from './workload.ts';

const ROOT_SPAN = 'POST check-roles';
const WARM_UP_COUNT = 150;
const COUNT = 300;
const EXPORT_INTERVAL_MS = 100;
/** Long enough that the last spans have arrived. */
const TRAIL_MS = 1_500;
const NS_PER_MS = 1e6;

/** Follows sync checks over an idle system by their traces, for the time budget of one check. */
export async function traceChecks(): Promise<Hop[]> {
  await using collector = await receiveSpans();
  await using bench = await startBenchSystem({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: String(EXPORT_INTERVAL_MS),
    },
  });
  const { chain, client } = bench.system;
  const workload = await makeWorkload(chain, 3);
  for (let i = 0; i < WARM_UP_COUNT + COUNT; i++) {
    const { status, text } = await client.check(workload.checkAt(i));
    if (status !== 200) throw new Error(`a sync check was answered with ${status}`);
    workload.verify(i, text);
  }
  await delay(TRAIL_MS);
  const traces = Map.groupBy(collector.spans, ({ traceId }) => traceId);
  const whole = [...traces.values()].filter((spans) => spans.some(({ name }) => name === ROOT_SPAN));
  if (whole.length < COUNT) throw new Error(`${whole.length} traces of ${COUNT} checks`);
  return hopsOf(
    whole.slice(-COUNT).map((spans) => spans.map(timedOf)),
    ROOT_SPAN,
  );
}

const timedOf = ({ name, service, startTimeUnixNano, endTimeUnixNano }: ReceivedSpan): Timed => ({
  name,
  service: service.replace('rolecall-', ''),
  startMs: Number(startTimeUnixNano) / NS_PER_MS,
  endMs: Number(endTimeUnixNano) / NS_PER_MS,
});
