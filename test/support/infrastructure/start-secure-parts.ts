import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { javaFlags } from '../../../deploy/local/infrastructure/java-flags.ts';
import { startKafka } from '../../../deploy/local/infrastructure/kafka.ts';
import { loadToolchain } from '../../../deploy/local/infrastructure/toolchain.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { spawnProgram } from '../systems/spawn-process.ts';
import { waitUntil } from '../wait-until.ts';
import type { Certificates } from './make-certificates.ts';

type Login = { readonly username: string; readonly password: string };

const PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required';
const SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required;';

/**
 * Starts a broker whose clients connect over TLS with a certificate and log in by PLAIN or
 * SCRAM-SHA-512. Only the broker itself, and its set-up, use a listener without TLS.
 */
export async function startSecureKafka(
  dir: string,
  certificates: Certificates,
  login: Login,
): Promise<AsyncDisposable & { readonly brokers: string }> {
  const [port = 0, securePort = 0, controllerPort = 0] = await findFreePorts(3);
  const listener = 'listener.name.sasl_ssl';
  const kafka = await startKafka({
    dir: join(dir, 'kafka'),
    port,
    controllerPort,
    properties: {
      listeners: `PLAINTEXT://127.0.0.1:${port},SASL_SSL://127.0.0.1:${securePort},CONTROLLER://127.0.0.1:${controllerPort}`,
      'advertised.listeners': `PLAINTEXT://127.0.0.1:${port},SASL_SSL://127.0.0.1:${securePort}`,
      'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL',
      [`${listener}.ssl.keystore.type`]: 'PEM',
      [`${listener}.ssl.keystore.location`]: certificates.serverPair,
      [`${listener}.ssl.truststore.type`]: 'PEM',
      [`${listener}.ssl.truststore.location`]: certificates.ca,
      [`${listener}.ssl.client.auth`]: 'required',
      [`${listener}.sasl.enabled.mechanisms`]: 'PLAIN,SCRAM-SHA-512',
      [`${listener}.plain.sasl.jaas.config`]: `${PLAIN} user_${login.username}="${login.password}";`,
      [`${listener}.scram-sha-512.sasl.jaas.config`]: SCRAM,
    },
  });
  try {
    addScramLogin(kafka.brokers, login);
  } catch (error) {
    await kafka.kill9();
    throw error;
  }
  return { brokers: `127.0.0.1:${securePort}`, [Symbol.asyncDispose]: () => kafka.stop() };
}

function addScramLogin(brokers: string, { username, password }: Login): void {
  const { java, kafka } = loadToolchain();
  const user = ['--entity-type', 'users', '--entity-name', username];
  const secret = ['--add-config', `SCRAM-SHA-512=[iterations=4096,password=${password}]`];
  const command = ['kafka.admin.ConfigCommand', '--bootstrap-server', brokers, '--alter', ...secret, ...user];
  const { status, stdout, stderr } = spawnSync(java, [...javaFlags(kafka), ...command], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`kafka-configs did not add the login: ${stdout}${stderr}`);
}

/**
 * Starts a Redis that accepts only TLS with a client certificate, and whose one user has only the
 * rights that a service needs.
 */
export async function startSecureRedis(
  dir: string,
  certificates: Certificates,
  login: Login,
): Promise<AsyncDisposable & { readonly url: string }> {
  const [port = 0] = await findFreePorts(1);
  const rights = ['~*', '&*', '+@all', '-@admin', '-@dangerous', '+info'];
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
  const users = ['--user', 'default', 'off', '--user', login.username, 'on', `>${login.password}`, ...rights];
  const redis = spawnProgram(loadToolchain().redis, [...args, ...users], {}, { argv0: 'redis-server' });
  await waitUntil('the secure Redis', () => {
    if (redis.child.exitCode !== null) throw new Error(`Redis ended: ${redis.stdout()}${redis.stderr()}`);
    return redis.stdout().includes('Ready to accept connections');
  });
  const { username, password } = login;
  return {
    url: `rediss://${username}:${encodeURIComponent(password)}@127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  };
}
