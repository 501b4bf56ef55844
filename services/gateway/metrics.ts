import { Counter, Gauge, Histogram } from 'prom-client';
import { ADMIT_OUTCOMES } from '#shared/stores/checks/admit.ts';
import { type Registry, SECONDS_BUCKETS } from '#shared/telemetry/metrics.ts';

const MODES = ['sync', 'poll', 'webhook', 'batch'] as const;

/** All metrics of the gateway. Labels are bounded: never a client, a request or an address. */
export function makeGatewayMetrics(registry: Registry) {
  const registers = [registry];
  /** A gauge that is read when it is collected; while its source fails, the last number stays. */
  const watched = (name: string, help: string) => {
    let read: () => number | Promise<number> = () => 0;
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const value = await Promise.resolve()
          .then(() => read())
          .catch(() => undefined);
        if (value !== undefined) this.set(value);
      },
    });
    return (source: typeof read): void => {
      read = source;
    };
  };
  const checksAccepted = new Counter({
    name: 'rolecall_checks_accepted_total',
    help: 'Checks that the broker has acknowledged; every entry of a batch is one.',
    labelNames: ['mode'] as const,
    registers,
  });
  const limitDecisions = new Counter({
    name: 'rolecall_limit_decisions_total',
    help: 'Requests by the decision of the limits and idempotency claims.',
    labelNames: ['decision'] as const,
    registers,
  });
  const requestSeconds = new Histogram({
    name: 'rolecall_http_request_seconds',
    help: 'Time from a request to the end of its answer; the mode of a check once its body is known, else none.',
    labelNames: ['route', 'status', 'mode'] as const,
    buckets: SECONDS_BUCKETS,
    registers,
  });
  const keyLookups = new Counter({
    name: 'rolecall_key_lookups_total',
    help: 'API keys looked up, by whether the client app was cached.',
    labelNames: ['result'] as const,
    registers,
  });
  // Present from the first scrape on: `rate` does not count the event with which a series appears.
  for (const mode of MODES) checksAccepted.inc({ mode }, 0);
  for (const decision of ADMIT_OUTCOMES) limitDecisions.inc({ decision }, 0);
  for (const result of ['hit', 'miss']) keyLookups.inc({ result }, 0);
  for (const status of ['200', '503', '504'])
    requestSeconds.zero({ route: 'checkRoles', status, mode: 'sync' });
  requestSeconds.zero({ route: 'checkRoles', status: '503', mode: 'none' });
  return {
    watchWaiters: watched('rolecall_waiters', 'Sync checks and long polls that wait for a result.'),
    watchKeyCache: watched(
      'rolecall_key_cache_bytes',
      'API keys and client apps that are kept in memory, by their estimated size.',
    ),
    watchRuleSetCache: watched(
      'rolecall_rule_set_cache_bytes',
      'Rule sets that are kept in memory, by their estimated size.',
    ),
    watchBatches: watched(
      'rolecall_batches_in_progress',
      'Accepted batches that are not finished, of all client apps and as every gateway sees them.',
    ),
    watchConnections: watched('rolecall_http_connections', 'Open connections of clients.'),
    checksAccepted,
    limitDecisions,
    requestSeconds,
    keyLookups,
    forwardedForIgnored: new Counter({
      name: 'rolecall_forwarded_for_ignored_total',
      help: 'Requests whose X-Forwarded-For was ignored: TRUSTED_PROXIES does not name its sender.',
      registers,
    }),
    inFlight: new Gauge({
      name: 'rolecall_http_requests_in_flight',
      help: 'Requests in flight.',
      registers,
    }),
    consumerLag: new Gauge({
      name: 'rolecall_consumer_lag',
      help: 'Uncommitted records of a group, by partition.',
      labelNames: ['group', 'topic', 'partition'] as const,
      registers,
    }),
    oldestUncommitted: new Gauge({
      name: 'rolecall_oldest_uncommitted_seconds',
      help: 'Age of the oldest uncommitted record of a group; 0 without lag.',
      labelNames: ['group'] as const,
      registers,
    }),
    oldestUnfinished: new Gauge({
      name: 'rolecall_oldest_unfinished_seconds',
      help: 'Age of the oldest unfinished check of a lane; 0 without lag.',
      labelNames: ['lane'] as const,
      registers,
    }),
  };
}

export type GatewayMetrics = ReturnType<typeof makeGatewayMetrics>;
