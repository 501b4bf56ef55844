import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { makeResults } from '#shared/stores/checks/results.ts';
import { replayTopics } from '#shared/stores/replay/replay-topics.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { connectTestKafka, connectTestRedis, testConfig } from '../../support/infrastructure/connections.ts';

// Scenario: an operator's command prints more than a pipe holds, and the program behind the pipe
// reads slowly, or ends without reading.

const config = testConfig(14);
const stack = new AsyncDisposableStack();
const result = { requestId: 'large', words: Array.from({ length: 250_000 }, (_, index) => `word ${index}`) };

beforeAll(async () => {
  const { redis } = stack.use(await connectTestRedis(config));
  const kafka = stack.use(await connectTestKafka(config));
  await replayTopics({ redis, kafka, now: Date.now, log: makeSilentLogger() });
  await makeResults(redis).saveIfAbsent({
    requestId: result.requestId,
    resultJson: JSON.stringify(result),
    acceptedAtMs: Date.now(),
    retainUntil: Date.now() + 600_000,
  });
});
afterAll(() => stack.disposeAsync());

/** Runs the command with a pipe at its output that nobody reads yet. */
function runAdmin(...args: readonly string[]): ChildProcess & { readonly stdout: AsyncIterable<Buffer> } {
  const child = spawn(process.execPath, ['services/developer-portal/admin/main.ts', ...args], {
    env: {
      ...process.env,
      KAFKA_BROKERS: config.kafka.brokers.join(','),
      REDIS_URL: config.redis.url,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  stack.defer(() => void child.kill('SIGKILL'));
  return child as never;
}

async function readSlowly(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk);
    await delay(1);
  }
  return Buffer.concat(chunks).toString();
}

test.each([[['--json']], [[]]])(
  'a slow reader gets the whole output of 2 MiB (options: %j)',
  async (options) => {
    const command = runAdmin('check', 'show', result.requestId, ...options);
    const exited = once(command, 'exit');
    const text = await readSlowly(command.stdout);
    expect(await exited).toEqual([0, null]);
    expect(text.length).toBeGreaterThan(2 * 1024 * 1024);
    expect(text).toContain('word 249999');
    if (options.length > 0) expect(JSON.parse(text)).toEqual({ result });
  },
);

test('a command whose reader has gone ends with 1, and without a stack', async () => {
  const command = runAdmin('check', 'show', result.requestId, '--json');
  const exited = once(command, 'exit');
  const errors = readSlowly(command.stderr as unknown as AsyncIterable<Buffer>);
  (command.stdout as unknown as { destroy: () => void }).destroy();
  expect(await exited).toEqual([1, null]);
  expect(await errors).toBe('');
});
