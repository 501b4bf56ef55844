import { Counter, Gauge, Histogram } from 'prom-client';
import { type Registry, SECONDS_BUCKETS } from '#shared/telemetry/metrics.ts';

/** All metrics of the gateway. Labels are bounded: never a client, a request or an address. */
export function makeGatewayMetrics(registry: Registry) {
  const registers = [registry];
  let countWaiters = () => 0;
  new Gauge({
    name: 'rolecall_waiters',
    help: 'Sync checks and long polls that wait for a result.',
    registers,
    collect() {
      this.set(countWaiters());
    },
  });
  return {
    watchWaiters(count: () => number) {
      countWaiters = count;
    },
    checksAccepted: new Counter({
      name: 'rolecall_checks_accepted_total',
      help: 'Checks that the broker has acknowledged.',
      labelNames: ['mode'] as const,
      registers,
    }),
    limitDecisions: new Counter({
      name: 'rolecall_limit_decisions_total',
      help: 'What the limits and idempotency claims decided about requests.',
      labelNames: ['decision'] as const,
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'rolecall_http_request_seconds',
      help: 'Time from a request to the end of its answer.',
      labelNames: ['route', 'status'] as const,
      buckets: SECONDS_BUCKETS,
      registers,
    }),
    inFlight: new Gauge({
      name: 'rolecall_http_requests_in_flight',
      help: 'Requests being answered.',
      registers,
    }),
    consumerLag: new Gauge({
      name: 'rolecall_consumer_lag',
      help: 'Records that a group has still to commit, by partition.',
      labelNames: ['group', 'topic', 'partition'] as const,
      registers,
    }),
    oldestUnfinished: new Gauge({
      name: 'rolecall_oldest_unfinished_seconds',
      help: "Age of a lane's oldest check that is not finished; 0 without lag.",
      labelNames: ['lane'] as const,
      registers,
    }),
  };
}

export type GatewayMetrics = ReturnType<typeof makeGatewayMetrics>;
