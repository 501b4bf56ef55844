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
  proxyList,
  publicBaseUrl,
  rereading,
  secret,
  withoutEndSlash,
} from '#shared/config.ts';
import type { ChainFile } from '#shared/contracts/chain-file.ts';
import { ServiceError } from '#shared/errors.ts';
import { readChainFile } from '#shared/read-chain-file.ts';
import type { MailSettings } from './features/accounts/mailer.ts';
import type { IdentityProviderSettings } from './features/single-sign-on/identity-provider.ts';
import { SignUpMode } from './http/api.ts';

const urlOf = (pattern: RegExp, error: string) =>
  z.string().refine((text) => pattern.test(text) && URL.canParse(text), error);

/** An address, with or without a name: `Rolecall <rolecall@example.com>`. */
const sender = z
  .string()
  .regex(/^(?:[^<>@\r\n]{1,100} <[^\s@<>]+@[^\s@<>]+>|[^\s@<>]+@[^\s@<>]+)$/, 'not an e-mail address');
/** A URL without a path, as browsers write it in `Origin`. */
const origin = z
  .string()
  .transform(withoutEndSlash)
  .refine((text) => /^https?:/.test(text) && URL.parse(text)?.origin === text, {
    error: 'not an origin such as https://portal.example.com',
  });
/** An identity provider; unencrypted only on this machine. */
const issuer = urlOf(
  /^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1)[:/])/,
  'not a URL such as https://login.example.com',
);

const PortalEnvironment = z.object({
  ...commonEnvironment,
  HTTP_HOST: z.string().default('0.0.0.0'),
  HTTP_PORT: integer({ min: 0, max: 65_535, default: 8081 }),
  TRUSTED_PROXIES: proxyList(),
  ACCESS_LOG: boolean(false),
  GATEWAY_URL: urlOf(/^https?:\/\//i, 'not an http URL')
    .transform(withoutEndSlash)
    .default('http://localhost:8080'),
  PUBLIC_BASE_URL: publicBaseUrl(),
  PORTAL_ORIGIN: emptyIsAbsent(origin),
  PORTAL_IN_FLIGHT_MAX: integer({ min: 1, max: 100_000, default: 500 }),
  PORTAL_CONNECTIONS_MAX: integer({ min: 1, max: 100_000, default: 2_000 }),
  PORTAL_SESSION_IDLE_HOURS: decimal({ min: 0.0001, max: 24, default: 1 }),
  PORTAL_SESSION_HOURS: decimal({ min: 0.0001, max: 720, default: 12 }),
  PORTAL_PASSWORD_COST: integer({ min: 10, max: 17, default: 15 }),
  PORTAL_SIGN_UPS_PER_HOUR: integer({ min: 1, max: 1_000_000, default: 100 }),
  PORTAL_SIGN_UP: emptyIsAbsent(SignUpMode),
  PORTAL_OPERATOR_TWO_FACTOR: emptyIsAbsent(z.literal('required')),
  OIDC_ISSUER: emptyIsAbsent(issuer),
  OIDC_CLIENT_ID: emptyIsAbsent(z.string()),
  OIDC_CLIENT_SECRET: secret(emptyIsAbsent(z.string())),
  SMTP_URL: secret(emptyIsAbsent(urlOf(/^smtps?:/i, 'not a URL such as smtps://user:password@host:465'))),
  MAIL_FROM: emptyIsAbsent(sender),
  WEBHOOK_ALLOWED_CIDRS: cidrList(),
  WEBHOOK_ALLOW_HTTP: boolean(false),
  CHAINS_FILE: emptyIsAbsent(z.string()),
  DEMO_CHAIN: demoChain(),
  ROLECALL_SECRET_KEYS: secret(keyRing()),
});

type Parsed = z.infer<typeof PortalEnvironment>;
export type PortalConfig = ReturnType<typeof loadConfig>;

/** @throws ServiceError `config-invalid` */
export function loadConfig(env: Environment) {
  const parsed = loadEnvironment(PortalEnvironment, env);
  loadSecrets(env);
  return {
    ...commonConfig(parsed),
    http: {
      host: parsed.HTTP_HOST,
      port: parsed.HTTP_PORT,
      connectionsMax: parsed.PORTAL_CONNECTIONS_MAX,
      inFlightMax: parsed.PORTAL_IN_FLIGHT_MAX,
      trustedProxies: parsed.TRUSTED_PROXIES,
      logsAccess: parsed.ACCESS_LOG,
    },
    /** Where this process reaches the gateway, and where developers do. */
    gateway: {
      url: parsed.GATEWAY_URL,
      publicUrl: withoutEndSlash(parsed.PUBLIC_BASE_URL) || parsed.GATEWAY_URL,
    },
    /** The chain file, whose chains the try form lists; if absent, the form accepts any chain
     * id. */
    chainsFile: parsed.CHAINS_FILE,
    demo: parsed.DEMO_CHAIN,
    /** The portal's own origin; if absent, `Origin` must match the request's `Host`. */
    origin: parsed.PORTAL_ORIGIN,
    session: {
      /** A session ends after this long without use, and after `lifeMsMax` even if it is in use. */
      idleMs: hoursToMs(parsed.PORTAL_SESSION_IDLE_HOURS),
      lifeMsMax: hoursToMs(parsed.PORTAL_SESSION_HOURS),
    },
    /** The logarithm of scrypt's cost N of new passwords. */
    passwordCost: parsed.PORTAL_PASSWORD_COST,
    signUpsPerHour: parsed.PORTAL_SIGN_UPS_PER_HOUR,
    signUp: parsed.PORTAL_SIGN_UP ?? 'open',
    /** Whether an operator without a second factor may do nothing but set it up. */
    operatorsNeedTwoFactor: parsed.PORTAL_OPERATOR_TWO_FACTOR === 'required',
    callback: { allowHttp: parsed.WEBHOOK_ALLOW_HTTP, allowedCidrs: parsed.WEBHOOK_ALLOWED_CIDRS },
  };
}

/** Loaded apart from the configuration, because that may be logged.
 * @throws ServiceError `config-invalid` */
export function loadSecrets(env: Environment) {
  const found = loadEnvironment(PortalEnvironment, env);
  return {
    keys: found.ROLECALL_SECRET_KEYS,
    mail: mailSettingsOf(found),
    identityProvider: identityProviderOf(found, env['OIDC_CLIENT_SECRET_FILE']),
  };
}

/** Nothing where the portal sends no e-mail. */
function mailSettingsOf({ SMTP_URL: url, MAIL_FROM: from, PORTAL_ORIGIN }: Parsed): MailSettings | undefined {
  if (url === undefined) return undefined;
  if (from === undefined || PORTAL_ORIGIN === undefined)
    throw new ServiceError('config-invalid', 'SMTP_URL: needs MAIL_FROM, and PORTAL_ORIGIN for its links');
  return { url, from, origin: PORTAL_ORIGIN };
}

/** Nothing where people sign in by password only. */
function identityProviderOf(
  { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, PORTAL_ORIGIN }: Parsed,
  secretFile: string | undefined,
): IdentityProviderSettings | undefined {
  if (OIDC_ISSUER === undefined) return undefined;
  if (OIDC_CLIENT_ID === undefined || OIDC_CLIENT_SECRET === undefined || PORTAL_ORIGIN === undefined)
    throw new ServiceError(
      'config-invalid',
      'OIDC_ISSUER: needs OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, and PORTAL_ORIGIN to return to',
    );
  return {
    issuer: OIDC_ISSUER,
    clientId: OIDC_CLIENT_ID,
    readClientSecret: rereading(secretFile, OIDC_CLIENT_SECRET),
    origin: PORTAL_ORIGIN,
  };
}

/** @throws ServiceError `config-invalid` */
export const loadChains = (path: string | undefined, env: Environment): ChainFile['chains'] =>
  path === undefined ? [] : readChainFile(path, env, { keepsEndpoints: true }).chains;
