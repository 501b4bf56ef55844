import { makeInstruments, type Registry, SECONDS_BUCKETS } from '#shared/telemetry/metrics.ts';

/** All metrics of the portal. Labels are bounded: never an account, an app or an address. */
export function makeMetrics(registry: Registry) {
  const { counter, gauge, histogram } = makeInstruments(registry);
  const requestSeconds = histogram(
    'rolecall_portal_request_seconds',
    "Time from a request to the portal's API to the end of its answer.",
    SECONDS_BUCKETS,
    ['operation', 'status'],
  );
  const mails = counter(
    'rolecall_portal_mails_total',
    'E-mail messages by outcome: sent, or failed after three attempts or because the queue was full.',
    { outcome: ['sent', 'failed'] },
  );
  for (const status of ['200', '401']) requestSeconds.zero({ operation: 'signIn', status });
  return {
    requestSeconds,
    forwardedForIgnored: counter(
      'rolecall_forwarded_for_ignored_total',
      'Requests whose X-Forwarded-For was ignored: TRUSTED_PROXIES does not name its sender.',
    ),
    inFlight: gauge('rolecall_portal_requests_in_flight', 'Requests to the portal being answered.'),
    mails,
  };
}

export type PortalMetrics = ReturnType<typeof makeMetrics>;
