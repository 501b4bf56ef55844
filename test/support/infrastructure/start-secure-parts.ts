import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { javaFlags } from '../../../deploy/local/infrastructure/java-flags.ts';
import { startKafka } from '../../../deploy/local/infrastructure/kafka.ts';
import { loadToolchain } from '../../../deploy/local/infrastructure/toolchain.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { spawnProgram } from '../systems/spawn-process.ts';
import { waitUntil } from '../wait-until.ts';
import type { Certificates } from './make-certificates.ts';

export type Login = { readonly username: string; readonly password: string };

const PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required';
const SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required;';
const BEARER = 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;';
const BEARER_HANDLER =
  'org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler';

/** The TLS listener, whose settings have this prefix. */
const LISTENER = 'listener.name.sasl_ssl';

/** Settings of a broker that refuses what no ACL allows; who uses the listener without TLS may do
 * everything. */
export const WITH_ACLS = {
  'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  'super.users': 'User:ANONYMOUS',
} as const;

/** Settings of a broker that accepts any unexpired token without a signature, and ends each session
 * after five seconds. */
export const WITH_TOKENS = {
  [`${LISTENER}.sasl.enabled.mechanisms`]: 'OAUTHBEARER',
  [`${LISTENER}.oauthbearer.sasl.jaas.config`]: BEARER,
  [`${LISTENER}.oauthbearer.sasl.server.callback.handler.class`]: BEARER_HANDLER,
  [`${LISTENER}.oauthbearer.connections.max.reauth.ms`]: '5000',
} as const;

/**
 * Starts a broker whose clients connect over TLS with a certificate and log in by PLAIN or
 * SCRAM-SHA-512. Only the broker itself, and its set-up, use a listener without TLS.
 *
 * @param logins those of PLAIN
 */
export async function startSecureKafka(
  dir: string,
  certificates: Certificates,
  logins: readonly Login[],
  properties: Readonly<Record<string, string>> = {},
): Promise<AsyncDisposable & { readonly brokers: string; readonly openBrokers: string }> {
  const [port = 0, securePort = 0, controllerPort = 0] = await findFreePorts(3);
  const users = logins.map(({ username, password }) => ` user_${username}="${password}"`).join('');
  const kafka = await startKafka({
    dir: join(dir, 'kafka'),
    port,
    controllerPort,
    properties: {
      listeners: `PLAINTEXT://127.0.0.1:${port},SASL_SSL://127.0.0.1:${securePort},CONTROLLER://127.0.0.1:${controllerPort}`,
      'advertised.listeners': `PLAINTEXT://127.0.0.1:${port},SASL_SSL://127.0.0.1:${securePort}`,
      'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL',
      [`${LISTENER}.ssl.keystore.type`]: 'PEM',
      [`${LISTENER}.ssl.keystore.location`]: certificates.serverPair,
      [`${LISTENER}.ssl.truststore.type`]: 'PEM',
      [`${LISTENER}.ssl.truststore.location`]: certificates.ca,
      [`${LISTENER}.ssl.client.auth`]: 'required',
      [`${LISTENER}.sasl.enabled.mechanisms`]: 'PLAIN,SCRAM-SHA-512',
      [`${LISTENER}.plain.sasl.jaas.config`]: `${PLAIN}${users};`,
      [`${LISTENER}.scram-sha-512.sasl.jaas.config`]: SCRAM,
      ...properties,
    },
  });
  return {
    brokers: `127.0.0.1:${securePort}`,
    openBrokers: kafka.brokers,
    [Symbol.asyncDispose]: () => kafka.stop(),
  };
}

/** Lets a login be used by SCRAM-SHA-512 too; `brokers` are those without TLS. */
export function addScramLogin(brokers: string, { username, password }: Login): void {
  const { java, kafka } = loadToolchain();
  const user = ['--entity-type', 'users', '--entity-name', username];
  const secret = ['--add-config', `SCRAM-SHA-512=[iterations=4096,password=${password}]`];
  const command = ['kafka.admin.ConfigCommand', '--bootstrap-server', brokers, '--alter', ...secret, ...user];
  const { status, stdout, stderr } = spawnSync(java, [...javaFlags(kafka), ...command], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`kafka-configs did not add the login: ${stdout}${stderr}`);
}

/** A user of Redis, with its rights as ACL rules. */
export type RedisUser = Login & { readonly rights: readonly string[] };

/** Starts a Redis that accepts only TLS with a client certificate, and these users alone. */
export async function startSecureRedis(
  dir: string,
  certificates: Certificates,
  users: readonly RedisUser[],
): Promise<AsyncDisposable & { readonly urlOf: (login: Login) => string }> {
  const [port = 0] = await findFreePorts(1);
  const settings = {
    port: '0',
    'tls-port': String(port),
    'tls-cert-file': certificates.serverCert,
    'tls-key-file': certificates.serverKey,
    'tls-ca-cert-file': certificates.ca,
    'tls-auth-clients': 'yes',
    bind: '127.0.0.1',
    dir,
    save: '',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const rules = users.flatMap(({ username, password, rights }) => [
    '--user',
    username,
    'on',
    `>${password}`,
    ...rights,
  ]);
  const command = [...args, '--user', 'default', 'off', ...rules];
  const redis = spawnProgram(loadToolchain().redis, command, {}, { argv0: 'redis-server' });
  await waitUntil('the secure Redis', () => {
    if (redis.child.exitCode !== null) throw new Error(`Redis ended: ${redis.stdout()}${redis.stderr()}`);
    return redis.stdout().includes('Ready to accept connections');
  });
  return {
    urlOf: ({ username, password }) =>
      `rediss://${username}:${encodeURIComponent(password)}@127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  };
}
