import { Counter, Gauge, Histogram } from 'prom-client';
import { type Registry, SECONDS_BUCKETS } from '#shared/telemetry/metrics.ts';

/** All metrics of the portal. Labels are bounded: never an account, an app or an address. */
export function makeMetrics(registry: Registry) {
  const registers = [registry];
  const requestSeconds = new Histogram({
    name: 'rolecall_portal_request_seconds',
    help: "Time from a request to the portal's API to the end of its answer.",
    labelNames: ['operation', 'status'] as const,
    buckets: SECONDS_BUCKETS,
    registers,
  });
  const mails = new Counter({
    name: 'rolecall_portal_mails_total',
    help: 'E-mail messages by outcome: sent, or failed after three attempts or because the queue was full.',
    labelNames: ['outcome'] as const,
    registers,
  });
  // Present from the first scrape on: `rate` does not count the event with which a series appears.
  for (const status of ['200', '401']) requestSeconds.zero({ operation: 'signIn', status });
  for (const outcome of ['sent', 'failed']) mails.inc({ outcome }, 0);
  return {
    requestSeconds,
    forwardedForIgnored: new Counter({
      name: 'rolecall_forwarded_for_ignored_total',
      help: 'Requests whose X-Forwarded-For was ignored: TRUSTED_PROXIES does not name its sender.',
      registers,
    }),
    inFlight: new Gauge({
      name: 'rolecall_portal_requests_in_flight',
      help: 'Requests to the portal being answered.',
      registers,
    }),
    mails,
  };
}

export type PortalMetrics = ReturnType<typeof makeMetrics>;
