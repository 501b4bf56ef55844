import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { DemoChain } from './contracts/demo-chain.ts';
import {
  RETENTION_DAYS,
  type Retention,
  type RetentionClass,
  SUPERSEDED_HOURS,
} from './contracts/retention.ts';
import { parseCidrs } from './contracts/webhooks/callback-address.ts';
import { describeError, ServiceError } from './errors.ts';
import { makeBearerLogin, makeTokenClient } from './kafka/bearer-token.ts';
import { parseKeyRing } from './secret-box.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A whole number with its bounds; an empty text is a fault, an absent one the default. */
export const integer = ({ min, max, ...rest }: { min: number; max: number; default: number }) =>
  integerWithin({ min, max }).default(rest.default);

export const integerWithin = ({ min, max }: { min: number; max: number }) =>
  z
    .string()
    .regex(/^-?[0-9]{1,15}$/, 'not a whole number')
    .transform(Number)
    .pipe(z.number().min(min, `below ${min}`).max(max, `above ${max}`));

export const decimal = (bounds: { min: number; max: number; default: number }) =>
  z
    .string()
    .regex(/^[0-9]{1,15}(\.[0-9]{1,15})?$/, 'not a decimal number')
    .transform(Number)
    .pipe(z.number().min(bounds.min, `below ${bounds.min}`).max(bounds.max, `above ${bounds.max}`))
    .default(bounds.default);

/** `true` or `false`; an empty text is `false`, as an empty list is a list: clearing a permission
 * means no. */
export const boolean = (fallback: boolean) =>
  z
    .enum(['true', 'false', ''])
    .transform((text) => text === 'true')
    .default(fallback);

/** A variable that may be absent; an empty text counts as absent. */
export const emptyIsAbsent = <S extends z.ZodType>(schema: S) =>
  z.preprocess((text) => (text === '' ? undefined : text), schema.optional());

const text = () => emptyIsAbsent(z.string());

const SECRETS = new WeakSet<object>();

/** Marks a variable as a secret: a file may hold it, which `NAME_FILE` names. */
export function secret<S extends z.ZodType>(schema: S): S {
  SECRETS.add(schema);
  return schema;
}

/**
 * The value of a secret: the variable's, or that of the file that `NAME_FILE` names, without its
 * final line break. An empty variable counts as absent beside the other.
 *
 * @throws ServiceError `config-invalid` that names the variable and never the value
 */
export function readSecret(env: Environment, name: string): string | undefined {
  const file = env[`${name}_FILE`];
  if (!file) return env[name];
  if (env[name]) throw new ServiceError('config-invalid', `${name}, ${name}_FILE: set one of them, not both`);
  return readFileOf(`${name}_FILE`, file).replace(/\r?\n$/, '');
}

/** Returns the function that reads a secret's file again, for a new connection. While the file
 * cannot be read, the last value stays: the server decides whether it is still right. */
export function rereading(file: string | undefined, atStart: string): () => string {
  let last = atStart;
  return () => {
    try {
      last = readSecret({ AGAIN_FILE: file }, 'AGAIN') || last;
    } catch {}
    return last;
  };
}

/** Comma-separated, blanks around the parts ignored; an empty text is an empty list. */
export const commaList = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    );

/** A text that must pass a parser, whose error tells the fault and never repeats the text. */
export const parsedBy =
  <T>(parse: (text: string) => T) =>
  (text: string, context: z.RefinementCtx): T => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue(describeError(error).message);
      return z.NEVER;
    }
  };

function parseDemoChain(text: string): DemoChain {
  try {
    return DemoChain.parse(JSON.parse(text));
  } catch {
    throw new ServiceError(
      'config-invalid',
      'not a JSON object of chainId, holder, stranger, erc20, erc721 and erc1155',
    );
  }
}

export const demoChain = () => emptyIsAbsent(z.string().transform(parsedBy(parseDemoChain)));

export const keyRing = () => z.string().transform(parsedBy(parseKeyRing));

/** Blocks of addresses, comma-separated; an empty text is an empty list. */
export const cidrList = () => z.string().default('').transform(parsedBy(parseCidrs));

/** An address to which paths are appended. */
export const withoutEndSlash = (url: string): string => url.replace(/\/+$/, '');

/** Where clients reach the gateway; empty if it is not set. */
export const publicBaseUrl = () =>
  z
    .union([
      z.literal(''),
      z
        .url({ protocol: /^https?$/ })
        .refine((text) => !/[?#]/.test(text), 'must have no query and no fragment'),
    ])
    .default('');

/** Addresses and CIDR blocks, comma-separated: the proxies that may say whose request it is. */
export const proxyList = () => commaList('').refine(areCidrs, 'not a list of addresses and CIDR blocks');

function areCidrs(blocks: readonly string[]): boolean {
  try {
    parseCidrs(blocks.join(','));
    return true;
  } catch {
    return false;
  }
}

/**
 * Parses the variables that a process needs.
 *
 * @throws ServiceError `config-invalid` that names every wrong variable and never a value.
 */
export function loadEnvironment<S extends z.ZodObject>(schema: S, env: Environment): z.infer<S> {
  const known = Object.fromEntries(
    Object.entries(schema.shape).map(([name, each]) => [
      name,
      SECRETS.has(each) ? readSecret(env, name) : env[name],
    ]),
  );
  const parsed = schema.safeParse(known);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => {
    const name = issue.path.join('.') || 'environment';
    return known[name] === undefined && issue.code === 'invalid_type'
      ? `${name}: missing`
      : `${name}: ${issue.message}`;
  });
  throw new ServiceError(
    'config-invalid',
    `wrong environment variables:\n  ${[...new Set(faults)].join('\n  ')}`,
  );
}

/** How long a consumer may stall with records waiting before `/livez` fails: at least, and beyond
 * the longest work of a process. Two waits of a minute each for an absent broker are not a stall. */
const LIVENESS_STALL_MS_MIN = 240_000;
const LIVENESS_MARGIN_MS = 150_000;
/** An idle consumer's fetch waits as long for records. */
const HEARTBEAT_INTERVAL_MS_MAX = 1_000;

const RETENTION_DAYS_MAX = 3_650;
const retentionDays = (of: RetentionClass) => integer({ ...RETENTION_DAYS[of], max: RETENTION_DAYS_MAX });

/** The variables that every process reads. */
export const commonEnvironment = {
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  OPS_HOST: z.string().default('0.0.0.0'),
  OPS_PORT: integer({ min: 0, max: 65_535, default: 9090 }),
  SYSTEM_ID: emptyIsAbsent(
    z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of the characters a to z, 0 to 9 and -'),
  ),
  KAFKA_BROKERS: commaList('localhost:9092').pipe(
    z
      .array(z.string().regex(/^[^\s:]+:[0-9]{1,5}$/))
      .min(1)
      .max(50),
  ),
  KAFKA_SESSION_TIMEOUT_MS: integer({ min: 1_000, max: 300_000, default: 6_000 }),
  KAFKA_TLS: boolean(false),
  KAFKA_TLS_CA_FILE: text(),
  KAFKA_TLS_CERT_FILE: text(),
  KAFKA_TLS_KEY_FILE: text(),
  KAFKA_SASL_MECHANISM: emptyIsAbsent(z.enum(['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'])),
  KAFKA_SASL_USERNAME: secret(text()),
  KAFKA_SASL_USERNAME_FILE: text(),
  KAFKA_SASL_PASSWORD: secret(text()),
  KAFKA_SASL_PASSWORD_FILE: text(),
  KAFKA_SASL_TOKEN: secret(text()),
  KAFKA_SASL_TOKEN_FILE: text(),
  KAFKA_SASL_TOKEN_URL: emptyIsAbsent(z.url({ protocol: /^https?$/ })),
  KAFKA_SASL_SCOPE: text(),
  KAFKA_SASL_EXTENSIONS: commaList('').pipe(
    z.array(z.string().regex(/^[A-Za-z]+=[\x21-\x7e]+$/, 'not a list of name=value')),
  ),
  RETENTION_CHECKS_DAYS: retentionDays('checks'),
  RETENTION_ATTEMPTS_DAYS: retentionDays('attempts'),
  RETENTION_USAGE_DAYS: retentionDays('usage'),
  RETENTION_AUDIT_DAYS: retentionDays('audit'),
  RETENTION_DEAD_LETTERS_DAYS: retentionDays('deadLetters'),
  RETENTION_SUPERSEDED_HOURS: integer({ ...SUPERSEDED_HOURS, max: 24 * RETENTION_DAYS_MAX }),
  REDIS_URL: secret(
    z
      .string()
      .regex(/^rediss?:\/\//, 'must begin with redis:// or rediss://')
      .default('redis://localhost:6379'),
  ),
  REDIS_URL_FILE: text(),
  REDIS_TLS_CA_FILE: text(),
  REDIS_TLS_CERT_FILE: text(),
  REDIS_TLS_KEY_FILE: text(),
  SHUTDOWN_TIMEOUT_MS: integer({ min: 1_000, max: 600_000, default: 20_000 }),
  DEPENDENCY_WAIT_MS: integer({ min: 1_000, max: 3_600_000, default: 120_000 }),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .string()
    .regex(/^(https?:\/\/.+)?$/, 'must begin with http:// or https://')
    .optional(),
} as const;

type CommonVariables = z.infer<z.ZodObject<typeof commonEnvironment>>;

type KafkaSasl =
  | {
      readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
      /** Read again from its file, if it has one, whenever it is used; so is the password. */
      readonly username: string;
      readonly password: string;
    }
  | {
      readonly mechanism: 'oauthbearer';
      readonly authenticationProvider: ReturnType<typeof makeBearerLogin>;
    };

export type RedisConfig = {
  /** May hold a password: never logged. `rediss://` speaks TLS. */
  readonly url: string;
  /** Reads the URL's file again, for the login of a new connection; absent without a file. */
  readonly readAgain?: () => string;
  /** Precedes the system's keys and channels; empty without `SYSTEM_ID`. */
  readonly keyPrefix?: string;
  readonly tls?: TlsSettings;
};

export type CommonConfig = ReturnType<typeof commonConfig>;
export type KafkaConfig = CommonConfig['kafka'];

const ONE_BROKER_REQUEST_TIMEOUT_MS = 40_000;
const SEVERAL_BROKERS_REQUEST_TIMEOUT_MS = 5_000;

/**
 * The settings that every process has.
 *
 * @param workMsMax how long one record may be in progress
 * @throws ServiceError `config-invalid` where settings contradict each other: parts of a login or of
 *   TLS without the rest.
 */
export function commonConfig(env: CommonVariables, workMsMax = 0) {
  return {
    logLevel: env.LOG_LEVEL,
    ops: { host: env.OPS_HOST, port: env.OPS_PORT },
    kafka: {
      brokers: env.KAFKA_BROKERS,
      /** Precedes the system's names of topics and groups; empty without `SYSTEM_ID`. */
      prefix: env.SYSTEM_ID === undefined ? '' : `${env.SYSTEM_ID}.`,
      sessionTimeoutMs: env.KAFKA_SESSION_TIMEOUT_MS,
      heartbeatIntervalMs: Math.min(HEARTBEAT_INTERVAL_MS_MAX, Math.floor(env.KAFKA_SESSION_TIMEOUT_MS / 3)),
      /** One broker: long, because a request that timed out is executed all the same. Several:
       * short, to fail over. */
      requestTimeoutMs:
        env.KAFKA_BROKERS.length > 1 ? SEVERAL_BROKERS_REQUEST_TIMEOUT_MS : ONE_BROKER_REQUEST_TIMEOUT_MS,
      ...kafkaTls(env),
      ...kafkaSasl(env),
    },
    redis: redisConfig(env),
    retention: {
      checks: env.RETENTION_CHECKS_DAYS,
      attempts: env.RETENTION_ATTEMPTS_DAYS,
      usage: env.RETENTION_USAGE_DAYS,
      audit: env.RETENTION_AUDIT_DAYS,
      deadLetters: env.RETENTION_DEAD_LETTERS_DAYS,
      supersededHours: env.RETENTION_SUPERSEDED_HOURS,
    } satisfies Retention,
    shutdownTimeoutMs: env.SHUTDOWN_TIMEOUT_MS,
    /** How long a process waits at its start for a broker or store that is away. */
    dependencyWaitMs: env.DEPENDENCY_WAIT_MS,
    /** How long a consumer may stall with records waiting before `/livez` fails. */
    livenessStallMs: Math.max(LIVENESS_STALL_MS_MIN, workMsMax + LIVENESS_MARGIN_MS),
    otlpEndpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT,
  };
}

/** The settings of a process that has no others. @throws ServiceError `config-invalid` */
export const loadCommonConfig = (env: Environment): CommonConfig =>
  commonConfig(loadEnvironment(z.object(commonEnvironment), env));

/** Without settings: plain text. */
function kafkaTls(env: CommonVariables): { tls?: TlsSettings } {
  const files = { ca: env.KAFKA_TLS_CA_FILE, cert: env.KAFKA_TLS_CERT_FILE, key: env.KAFKA_TLS_KEY_FILE };
  if (env.KAFKA_TLS) return { tls: readTls('KAFKA_TLS', files) };
  if (Object.values(files).some((file) => file !== undefined))
    throw new ServiceError('config-invalid', 'KAFKA_TLS_…_FILE needs KAFKA_TLS=true');
  return {};
}

/** The login holds a password: never logged. */
function kafkaSasl(env: CommonVariables): { sasl?: KafkaSasl } {
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD } = env;
  const isTokenSet = env.KAFKA_SASL_TOKEN !== undefined || env.KAFKA_SASL_TOKEN_URL !== undefined;
  if (isTokenSet && mechanism !== 'oauthbearer')
    throw new ServiceError(
      'config-invalid',
      'KAFKA_SASL_TOKEN and KAFKA_SASL_TOKEN_URL need KAFKA_SASL_MECHANISM=oauthbearer',
    );
  if (!mechanism && !KAFKA_SASL_USERNAME && !KAFKA_SASL_PASSWORD) return {};
  if ((mechanism === 'plain' || mechanism === 'oauthbearer') && !env.KAFKA_TLS)
    throw new ServiceError(
      'config-invalid',
      `KAFKA_SASL_MECHANISM=${mechanism} sends its secret readable: set KAFKA_TLS=true${mechanism === 'plain' ? ', or use scram-sha-512' : ''}`,
    );
  if (mechanism === 'oauthbearer') return { sasl: bearerSasl(env) };
  if (!mechanism || !KAFKA_SASL_USERNAME || !KAFKA_SASL_PASSWORD)
    throw new ServiceError(
      'config-invalid',
      'KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD must be set together',
    );
  const login = rereadingLogin(env, KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD);
  return {
    sasl: {
      mechanism,
      get username() {
        return login.username();
      },
      get password() {
        return login.password();
      },
    },
  };
}

const rereadingLogin = (env: CommonVariables, username: string, password: string) => ({
  username: rereading(env.KAFKA_SASL_USERNAME_FILE, username),
  password: rereading(env.KAFKA_SASL_PASSWORD_FILE, password),
});

/** A token that somebody else keeps in a file, or one that the process gets with its own
 * credentials. */
function bearerSasl(env: CommonVariables): KafkaSasl {
  const { KAFKA_SASL_TOKEN: token, KAFKA_SASL_TOKEN_FILE: file, KAFKA_SASL_TOKEN_URL: url } = env;
  const { KAFKA_SASL_USERNAME: clientId, KAFKA_SASL_PASSWORD: clientSecret } = env;
  if ((token === undefined) === (url === undefined))
    throw new ServiceError(
      'config-invalid',
      'KAFKA_SASL_MECHANISM=oauthbearer needs KAFKA_SASL_TOKEN_FILE, or KAFKA_SASL_TOKEN_URL with a client id and secret, not both',
    );
  const provide = (readToken: () => Promise<string>): KafkaSasl => ({
    mechanism: 'oauthbearer',
    authenticationProvider: makeBearerLogin(readToken, env.KAFKA_SASL_EXTENSIONS),
  });
  // A file that is unreadable later is told by its own error, which a broker that refuses an old
  // token could not.
  if (url === undefined)
    return provide(async () =>
      String(file === undefined ? token : readSecret({ KAFKA_SASL_TOKEN_FILE: file }, 'KAFKA_SASL_TOKEN')),
    );
  if (!clientId || !clientSecret)
    throw new ServiceError(
      'config-invalid',
      'KAFKA_SASL_TOKEN_URL needs the client id as KAFKA_SASL_USERNAME and its secret as KAFKA_SASL_PASSWORD',
    );
  const login = rereadingLogin(env, clientId, clientSecret);
  return provide(
    makeTokenClient(() => ({
      url,
      clientId: login.username(),
      clientSecret: login.password(),
      scope: env.KAFKA_SASL_SCOPE,
    })),
  );
}

function redisConfig(env: CommonVariables): RedisConfig {
  const { REDIS_URL: url, REDIS_URL_FILE, SYSTEM_ID } = env;
  const read = {
    url,
    ...(REDIS_URL_FILE !== undefined && { readAgain: rereading(REDIS_URL_FILE, url) }),
    ...(SYSTEM_ID !== undefined && { keyPrefix: `${SYSTEM_ID}:` }),
  };
  const files = { ca: env.REDIS_TLS_CA_FILE, cert: env.REDIS_TLS_CERT_FILE, key: env.REDIS_TLS_KEY_FILE };
  if (Object.values(files).every((file) => file === undefined)) return read;
  if (!url.startsWith('rediss://'))
    throw new ServiceError('config-invalid', 'REDIS_TLS_…_FILE needs a REDIS_URL that begins with rediss://');
  return { ...read, tls: readTls('REDIS_TLS', files) };
}

/** An instant or span given in hours, fractions allowed, as milliseconds. */
export const hoursToMs = (hours: number): number => Math.round(hours * 3_600_000);

/** The certificates and the key of a TLS client, as PEM texts. The key is a secret: never
 * logged. */
type TlsSettings = {
  /** Authorities to trust instead of the system's. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
};

type TlsFiles = { readonly [part in keyof TlsSettings]?: string | undefined };

/**
 * Reads the files of a TLS client; without any the system's authorities are trusted and no
 * certificate is shown.
 *
 * @param prefix the beginning of the variables that name the files, for messages
 * @throws ServiceError `config-invalid` if a file cannot be read, or a certificate has no key
 *
 * @example
 * readTls('KAFKA_TLS', { ca: '/etc/tls/ca.pem' }); // { ca: '-----BEGIN CERTIFICATE…' }
 */
function readTls(prefix: string, files: TlsFiles): TlsSettings {
  if ((files.cert === undefined) !== (files.key === undefined))
    throw new ServiceError(
      'config-invalid',
      `${prefix}_CERT_FILE and ${prefix}_KEY_FILE must be set together`,
    );
  const read = (part: keyof TlsSettings): TlsSettings => {
    const file = files[part];
    return file === undefined ? {} : { [part]: readPem(`${prefix}_${part.toUpperCase()}_FILE`, file) };
  };
  return { ...read('ca'), ...read('cert'), ...read('key') };
}

function readFileOf(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'error' } = error as NodeJS.ErrnoException;
    throw new ServiceError('config-invalid', `${variable}: cannot be read (${code})`);
  }
}

function readPem(variable: string, file: string): string {
  const text = readFileOf(variable, file);
  if (!text.includes('-----BEGIN ')) throw new ServiceError('config-invalid', `${variable}: is not PEM`);
  return text;
}
