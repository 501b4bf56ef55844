import { z } from 'zod';
import {
  boolean,
  cidrList,
  commaList,
  commonConfig,
  commonEnvironment,
  decimal,
  type Environment,
  integer,
  keyRing,
  loadEnvironment,
  secret,
} from '#shared/config.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KeyRing } from '#shared/secret-box.ts';

const DispatcherEnvironment = z.object({
  ...commonEnvironment,
  WEBHOOK_ALLOWED_CIDRS: cidrList(),
  WEBHOOK_ALLOW_HTTP: boolean(false),
  WEBHOOK_SCHEDULE_SCALE: decimal({ min: 0.001, max: 1, default: 1 }),
  WEBHOOK_CONNECT_TIMEOUT_MS: integer({ min: 100, max: 60_000, default: 5_000 }),
  WEBHOOK_ATTEMPT_TIMEOUT_MS: integer({ min: 100, max: 60_000, default: 15_000 }),
  WEBHOOK_DNS_SERVERS: commaList(''),
  ROLECALL_SECRET_KEYS: secret(keyRing()),
});

/** Shutdown must leave a new attempt time to end and its result time to be written. */
const STOP_MARGIN_MS = 4_000;

/** @throws ServiceError `config-invalid` */
export function loadConfig(env: Environment) {
  const parsed = loadEnvironment(DispatcherEnvironment, env);
  const webhook = {
    allowed: parsed.WEBHOOK_ALLOWED_CIDRS,
    allowHttp: parsed.WEBHOOK_ALLOW_HTTP,
    /** Multiplies the schedule, the tiers, the give-up bound and the breaker's times. */
    scheduleScale: parsed.WEBHOOK_SCHEDULE_SCALE,
    connectTimeoutMs: parsed.WEBHOOK_CONNECT_TIMEOUT_MS,
    attemptTimeoutMs: parsed.WEBHOOK_ATTEMPT_TIMEOUT_MS,
    /** Empty: the system's servers. */
    dnsServers: parsed.WEBHOOK_DNS_SERVERS,
  };
  if (webhook.connectTimeoutMs > webhook.attemptTimeoutMs)
    throw new ServiceError(
      'config-invalid',
      'WEBHOOK_CONNECT_TIMEOUT_MS must not exceed WEBHOOK_ATTEMPT_TIMEOUT_MS',
    );
  return { ...commonConfig(parsed, webhook.attemptTimeoutMs), webhook };
}

/**
 * The keys that open the signing secrets: an object of its own, never in the configuration, which
 * may be logged.
 *
 * @throws ServiceError `config-invalid`
 */
export const loadSecretKeys = (env: Environment): KeyRing =>
  loadEnvironment(DispatcherEnvironment, env).ROLECALL_SECRET_KEYS;

type DispatcherConfig = ReturnType<typeof loadConfig>;

/** Settings that are allowed but unusual; logged at start-up. */
export function warningsOf({ webhook, shutdownTimeoutMs }: DispatcherConfig): string[] {
  const warnings: Readonly<Record<string, boolean>> = {
    [`callbacks to ${webhook.allowed.map((cidr) => cidr.join('/')).join(', ')} are allowed`]:
      webhook.allowed.length > 0,
    'callbacks over plain http are allowed': webhook.allowHttp,
    [`the retry schedule is multiplied by ${webhook.scheduleScale}`]: webhook.scheduleScale !== 1,
    [`SHUTDOWN_TIMEOUT_MS is below WEBHOOK_ATTEMPT_TIMEOUT_MS + ${STOP_MARGIN_MS}: attempts cut short by a stop are repeated`]:
      shutdownTimeoutMs < webhook.attemptTimeoutMs + STOP_MARGIN_MS,
  };
  return Object.keys(warnings).filter((warning) => warnings[warning]);
}
