import { z } from 'zod';
import {
  boolean,
  cidrList,
  commonConfig,
  commonEnvironment,
  decimal,
  demoChain,
  type Environment,
  emptyIsAbsent,
  hoursToMs,
  integer,
  keyRing,
  loadEnvironment,
  parsedBy,
  proxyList,
  publicBaseUrl,
  secret,
  withoutEndSlash,
} from '#shared/config.ts';
import { ServiceError } from '#shared/errors.ts';
import { HTTP_TIMEOUTS_MS } from '#shared/http/http-server.ts';
import { parsePublicRing } from '#shared/proof-keys.ts';
import type { KeyRing } from '#shared/secret-box.ts';

const GatewayEnvironment = z.object({
  ...commonEnvironment,
  HTTP_HOST: z.string().default('0.0.0.0'),
  HTTP_PORT: integer({ min: 0, max: 65_535, default: 8080 }),
  PUBLIC_BASE_URL: publicBaseUrl(),
  CHAINS_FILE: z.string().min(1),
  DEMO_CHAIN: demoChain(),
  ROLECALL_ID_KEYS: secret(keyRing()),
  ROLECALL_PROOF_PUBLIC_KEYS: emptyIsAbsent(z.string().transform(parsedBy(parsePublicRing))),
  SYNC_DEADLINE_MS: integer({ min: 100, max: 25_000, default: 10_000 }),
  RESULT_RETENTION_HOURS: decimal({ min: 0.0001, max: 168, default: 72 }),
  SYNC_RESULT_RETENTION_HOURS: decimal({ min: 0.0001, max: 168, default: 1 }),
  WEBHOOK_ALLOWED_CIDRS: cidrList(),
  WEBHOOK_ALLOW_HTTP: boolean(false),
  IN_FLIGHT_MAX: integer({ min: 1, max: 100_000, default: 10_000 }),
  LANE_LAG_MAX: integer({ min: 1, max: 100_000_000, default: 1_000_000 }),
  CONNECTIONS_MAX: integer({ min: 1, max: 1_000_000, default: 20_000 }),
  HTTP_KEEP_ALIVE_TIMEOUT_MS: integer({ min: 10, max: 3_600_000, default: HTTP_TIMEOUTS_MS.keepAlive }),
  TRUSTED_PROXIES: proxyList(),
  ACCESS_LOG: boolean(false),
});

/** The time of a stop beside the sync checks it waits for: 2 s of failed readiness, and time to
 * close. */
const STOP_MARGIN_MS = 4_000;

/** Kept apart from the configuration, which may be logged. */
type GatewaySecrets = { readonly idKeys: KeyRing };

/** @throws ServiceError `config-invalid` */
export function loadConfig(env: Environment) {
  const parsed = loadEnvironment(GatewayEnvironment, env);
  const shutdownMsMin = parsed.SYNC_DEADLINE_MS + STOP_MARGIN_MS;
  if (env['SHUTDOWN_TIMEOUT_MS'] !== undefined && parsed.SHUTDOWN_TIMEOUT_MS < shutdownMsMin)
    throw new ServiceError(
      'config-invalid',
      `SHUTDOWN_TIMEOUT_MS must be at least SYNC_DEADLINE_MS + ${STOP_MARGIN_MS}: a stop waits for sync checks`,
    );
  return {
    ...commonConfig(parsed),
    // The default of all processes may be too short.
    shutdownTimeoutMs: Math.max(parsed.SHUTDOWN_TIMEOUT_MS, shutdownMsMin),
    http: {
      host: parsed.HTTP_HOST,
      port: parsed.HTTP_PORT,
      /** Without a slash at its end; empty for relative addresses. */
      publicBaseUrl: withoutEndSlash(parsed.PUBLIC_BASE_URL),
      inFlightMax: parsed.IN_FLIGHT_MAX,
      connectionsMax: parsed.CONNECTIONS_MAX,
      timeoutsMs: { ...HTTP_TIMEOUTS_MS, keepAlive: parsed.HTTP_KEEP_ALIVE_TIMEOUT_MS },
      trustedProxies: parsed.TRUSTED_PROXIES,
      logsAccess: parsed.ACCESS_LOG,
    },
    chainsFile: parsed.CHAINS_FILE,
    /** The wallets and tokens of the documentation's samples, if this chain is configured. */
    demo: parsed.DEMO_CHAIN,
    syncDeadlineMs: parsed.SYNC_DEADLINE_MS,
    /** By lane: sync checks travel in the interactive one. */
    retentionMs: {
      interactive: hoursToMs(parsed.SYNC_RESULT_RETENTION_HOURS),
      bulk: hoursToMs(parsed.RESULT_RETENTION_HOURS),
      batch: hoursToMs(parsed.RESULT_RETENTION_HOURS),
    },
    callback: { allowHttp: parsed.WEBHOOK_ALLOW_HTTP, allowedCidrs: parsed.WEBHOOK_ALLOWED_CIDRS },
    /** Public keys of signed verdicts; absent: no check may ask for a proof. */
    proofKeys: parsed.ROLECALL_PROOF_PUBLIC_KEYS,
    /** Records waiting in a lane beyond which no more checks are taken. */
    laneLagMax: parsed.LANE_LAG_MAX,
  };
}

type GatewayConfig = Readonly<ReturnType<typeof loadConfig>>;

/** Settings that contradict each other and still may be intended; logged at the start. */
export function warningsOf({ http, callback, retentionMs }: GatewayConfig): string[] {
  const warnings: Readonly<Record<string, boolean>> = {
    [`callbacks to ${callback.allowedCidrs.length} blocks of WEBHOOK_ALLOWED_CIDRS are allowed`]:
      callback.allowedCidrs.length > 0,
    'callbacks over plain http are allowed (WEBHOOK_ALLOW_HTTP)': callback.allowHttp,
    'IN_FLIGHT_MAX is above CONNECTIONS_MAX and never reached: a connection carries one request at a time':
      http.inFlightMax > http.connectionsMax,
    'SYNC_RESULT_RETENTION_HOURS is above RESULT_RETENTION_HOURS: the results of sync checks would be kept longest':
      retentionMs.interactive > retentionMs.bulk,
  };
  return Object.keys(warnings).filter((warning) => warnings[warning]);
}

/** @throws ServiceError `config-invalid` */
export function loadSecrets(env: Environment): GatewaySecrets {
  const { ROLECALL_ID_KEYS } = loadEnvironment(GatewayEnvironment.pick({ ROLECALL_ID_KEYS: true }), env);
  return { idKeys: ROLECALL_ID_KEYS };
}
