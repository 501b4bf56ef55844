import { ADMIT_OUTCOMES } from '#shared/stores/checks/admit.ts';
import { makeInstruments, type Registry, SECONDS_BUCKETS } from '#shared/telemetry/metrics.ts';

/** All metrics of the gateway. Labels are bounded: never a client, a request or an address. */
export function makeGatewayMetrics(registry: Registry) {
  const { counter, gauge, histogram, watched } = makeInstruments(registry);
  const checksAccepted = counter(
    'rolecall_checks_accepted_total',
    'Checks that the broker has acknowledged; every entry of a batch is one.',
    { mode: ['sync', 'poll', 'webhook', 'batch'] },
  );
  const limitDecisions = counter(
    'rolecall_limit_decisions_total',
    'Decisions of the limits and idempotency claims; a request that waits for another one has several.',
    { decision: ADMIT_OUTCOMES },
  );
  const requestSeconds = histogram(
    'rolecall_http_request_seconds',
    'Time from a request to the end of its answer; the mode of a check once its body is known, else none.',
    SECONDS_BUCKETS,
    ['route', 'status', 'mode'],
  );
  const keyLookups = counter(
    'rolecall_key_lookups_total',
    'API keys looked up, by whether the client app was cached.',
    { result: ['hit', 'miss'] },
  );
  // Present from the first scrape on: `rate` does not count the event with which a series appears.
  for (const status of ['200', '503', '504'])
    requestSeconds.zero({ route: 'checkRoles', status, mode: 'sync' });
  requestSeconds.zero({ route: 'checkRoles', status: '503', mode: 'none' });
  return {
    watchWaiters: watched('rolecall_waiters', 'Sync checks and long polls that wait for a result.'),
    watchBatches: watched(
      'rolecall_batches_in_progress',
      'Batches that are not finished, of all client apps and as every gateway sees them.',
    ),
    watchConnections: watched('rolecall_http_connections', 'Open connections of clients.'),
    checksAccepted,
    limitDecisions,
    requestSeconds,
    keyLookups,
    forwardedForIgnored: counter(
      'rolecall_forwarded_for_ignored_total',
      'Requests whose X-Forwarded-For was ignored: TRUSTED_PROXIES does not name its sender.',
    ),
    inFlight: gauge('rolecall_http_requests_in_flight', 'Requests in flight.'),
    consumerLag: gauge('rolecall_consumer_lag', 'Uncommitted records of a group, by partition.', [
      'group',
      'topic',
      'partition',
    ]),
    oldestUncommitted: gauge(
      'rolecall_oldest_uncommitted_seconds',
      'Age of the oldest uncommitted record of a group; 0 without lag.',
      ['group'],
    ),
    oldestUnfinished: gauge(
      'rolecall_oldest_unfinished_seconds',
      'Age of the oldest unfinished check of a lane; 0 without lag.',
      ['lane'],
    ),
  };
}

export type GatewayMetrics = ReturnType<typeof makeGatewayMetrics>;
