import type { HealthChecks } from './http/ops-server.ts';
import type { Logger } from './telemetry/log.ts';
import type { Registry } from './telemetry/metrics.ts';

/** The process-wide parts that every part of a service may use. */
export type ServiceContext = {
  readonly log: Logger;
  readonly metrics: Registry;
  readonly readiness: HealthChecks;
  readonly liveness: HealthChecks;
  /** Aborted by the first SIGTERM or SIGINT. */
  readonly stopping: AbortSignal;
  /** Ends the process at once with a non-zero code, because it would otherwise run without doing
   * any work. */
  readonly fail: (error: unknown) => void;
};
