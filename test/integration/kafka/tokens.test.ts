import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { commonConfig, commonEnvironment, type Environment, loadEnvironment } from '#shared/config.ts';
import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { connectKafka } from '#shared/kafka/connect.ts';
import { applyTopics } from '#shared/kafka/topics-admin.ts';
import { makeLogger } from '#shared/telemetry/log.ts';
import { aCheckCompleted } from '../../support/builders/a-check-completed.ts';
import { serveOnLoopback } from '../../support/fakes/serve-on-loopback.ts';
import { testContext } from '../../support/infrastructure/connections.ts';
import { type Certificates, makeCertificates } from '../../support/infrastructure/make-certificates.ts';
import { startSecureKafka, WITH_TOKENS } from '../../support/infrastructure/start-secure-parts.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: a broker that accepts tokens alone, and ends a session after some seconds. A process
// that publishes and consumes gets its tokens from a file, or from an endpoint, which fail for a
// while. Nothing that it accepted is lost, and the log says why it stood still.

const dir = mkdtempSync(join(tmpdir(), 'rolecall-tokens-'));
let certificates: Certificates;
let brokers: string;
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  certificates = makeCertificates(dir);
  const kafka = stack.use(await startSecureKafka(dir, certificates, [], WITH_TOKENS));
  brokers = kafka.brokers;
  await using connection = await connect({ KAFKA_SASL_TOKEN: aToken(3_600) });
  await applyTopics(connection.admin, [checkCompleted]);
});
afterAll(async () => {
  await stack.disposeAsync();
  rmSync(dir, { recursive: true, force: true });
});

const configOf = (over: Environment) =>
  commonConfig(
    loadEnvironment(z.object(commonEnvironment), {
      KAFKA_BROKERS: brokers,
      KAFKA_TLS: 'true',
      KAFKA_TLS_CA_FILE: certificates.ca,
      KAFKA_TLS_CERT_FILE: certificates.clientCert,
      KAFKA_TLS_KEY_FILE: certificates.clientKey,
      KAFKA_SASL_MECHANISM: 'oauthbearer',
      KAFKA_SESSION_TIMEOUT_MS: '30000',
      DEPENDENCY_WAIT_MS: '120000',
      ...over,
    }),
  );

/** The broker has one topic alone. */
const connect = (over: Environment, context: Partial<Parameters<typeof connectKafka>[2]> = {}) =>
  connectKafka(configOf(over), 'test', { ...testContext(), ...context }, { mustHaveTopics: false });

/** A token without a signature (RFC 7515, A.5) that lasts so long. */
function aToken(seconds: number): string {
  const iat = Date.now() / 1_000;
  const parts = [{ alg: 'none' }, { sub: 'rolecall', iat, exp: iat + seconds }];
  return `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`;
}

/** As a program that keeps a file of tokens should do it: no reader sees half of one. */
function writeToken(file: string, token: string): void {
  writeFileSync(`${file}.new`, token);
  renameSync(`${file}.new`, file);
}

/** A process that publishes all the time, and consumes what it publishes. */
async function startLoad(name: string, over: Environment) {
  const opened = new AsyncDisposableStack();
  const lines: string[] = [];
  const log = makeLogger('test', 'info', { write: (line) => void lines.push(line) });
  const failures: unknown[] = [];
  const fail = (error: unknown) => void failures.push(error);
  const kafka = opened.use(await connect(over, { log, fail }));
  const [received, published] = [new Set<string>(), new Set<string>()];
  opened.use(
    await kafka.consume({
      groupId: `tokens.${name}`,
      topics: [checkCompleted],
      window: 64,
      handle: async ({ requestId }) => void received.add(requestId),
    }),
  );
  const running: Promise<void>[] = [];
  let isOver = false;
  const load = (async () => {
    for (let i = 0; !isOver; i++) {
      const requestId = `${name}-${i}`;
      const message = aCheckCompleted('app_1', { requestId });
      const acknowledged = () => void published.add(requestId);
      running.push(kafka.publish(checkCompleted, message).then(acknowledged, () => undefined));
      await delay(20);
    }
  })();
  return {
    said: (words: string) => waitUntil(words, () => lines.some((line) => line.includes(words))),
    /** Waits until records are acknowledged again. */
    async goesOn() {
      const before = published.size + 50;
      await waitUntil('further acknowledgements', () => published.size >= before);
    },
    /** Ends the load, and waits until all that was acknowledged is consumed. */
    async end() {
      isOver = true;
      await load;
      await Promise.all(running);
      await waitUntil('every acknowledged record', () => published.isSubsetOf(received));
      return { failures, count: published.size };
    },
    async [Symbol.asyncDispose]() {
      isOver = true;
      await load;
      await opened.disposeAsync();
    },
  };
}

test('a token in a file that expires under load, and then is gone, loses nothing', async () => {
  const file = join(dir, 'token');
  writeToken(file, aToken(3_600));
  await using load = await startLoad('file', { KAFKA_SASL_TOKEN_FILE: file });
  await load.goesOn();
  writeToken(file, aToken(-60));
  await load.said('authentication failed');
  rmSync(file);
  await load.said('KAFKA_SASL_TOKEN_FILE: cannot be read (ENOENT)');
  writeToken(file, aToken(3_600));
  await load.goesOn();
  const { failures, count } = await load.end();
  expect(failures).toEqual([]);
  expect(count).toBeGreaterThan(100);
});

test('tokens of an endpoint are replaced in time, and an endpoint that is away loses nothing', async () => {
  let isAway = false;
  const asked: (string | undefined)[] = [];
  await using endpoint = await serveOnLoopback((request, response) => {
    asked.push(request.headers.authorization);
    response.writeHead(isAway ? 503 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isAway ? {} : { access_token: aToken(20), expires_in: 20 }));
  });
  await using load = await startLoad('endpoint', {
    KAFKA_SASL_TOKEN_URL: `${endpoint.url}/token`,
    KAFKA_SASL_USERNAME: 'rolecall',
    KAFKA_SASL_PASSWORD: 'hunter2',
  });
  await waitUntil('a second token', () => asked.length > 1);
  await load.goesOn();
  isAway = true;
  await load.said('KAFKA_SASL_TOKEN_URL gave no token: HTTP 503');
  isAway = false;
  await load.goesOn();
  expect(await load.end()).toMatchObject({ failures: [] });
  expect(new Set(asked)).toEqual(new Set([`Basic ${Buffer.from('rolecall:hunter2').toString('base64')}`]));
});

test('a process that starts without a token says why, and goes on once there is one', async () => {
  const file = join(dir, 'late-token');
  writeToken(file, aToken(3_600));
  const settings = configOf({ KAFKA_SASL_TOKEN_FILE: file });
  rmSync(file);
  const lines: string[] = [];
  const log = makeLogger('test', 'info', { write: (line) => void lines.push(line) });
  const connecting = connectKafka(settings, 'test', { ...testContext(), log }, { mustHaveTopics: false });
  const reason = 'KAFKA_SASL_TOKEN_FILE: cannot be read (ENOENT)';
  await waitUntil('the reason', () =>
    lines.some((line) => line.includes('waiting for the broker') && line.includes(reason)),
  );
  writeToken(file, aToken(3_600));
  await using kafka = await connecting;
  await kafka.publish(checkCompleted, aCheckCompleted('app_1', { requestId: 'late' }));
});
