// `npm start` runs in the background of a shell that ends, as with `ssh host 'npm start &'` or a
// closed terminal. The system must outlive the shell, end together with npm, and not outlive an npm
// that is killed. The first start has no evaluator: its checks are evaluated by the second one, on
// the same data.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ReadyLine } from '../../../deploy/local/system/ready-line.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks, type WebhookReceiver } from '../../support/fakes/receive-webhooks.ts';
import { makeDataDir } from '../../support/infrastructure/make-data-dir.ts';
import { makeCheckClient } from '../../support/systems/check-client.ts';
import { spawnProgram } from '../../support/systems/spawn-process.ts';
import { findPortBase } from '../../support/systems/start-system.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** Ends once the system is ready; the system keeps running. */
const BACKGROUND = `
  rm -f "$2/ready"
  npm start --silent -- --json --no-demo --evaluators "$3" --port-base "$0" --data "$1" >"$2/ready" 2>>"$2/log" &
  echo $!
  until [ -s "$2/ready" ] || ! kill -0 $! 2>/dev/null; do sleep 0.1; done`;
/** Longer than a system takes to notice that its starter is gone. */
const LONG_POLL_S = 2;

const dir = makeDataDir('background');
const started = new Set<number>();
afterAll(() => {
  for (const pid of started) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

type Background = { readonly npm: number; readonly ready: ReadyLine; readonly pids: readonly number[] };

async function startInBackground(evaluators: number): Promise<Background> {
  // Another start may have taken the ports of the previous one.
  const portBase = await findPortBase();
  // So that a busy machine expels no member of a group, which logs an error about the coordinator.
  const env = { KAFKA_SESSION_TIMEOUT_MS: '30000' };
  const args = ['-c', BACKGROUND, String(portBase), join(dir, 'data'), dir, String(evaluators)];
  await using shell = spawnProgram('sh', args, env);
  const npm = await waitUntil('the process id of npm', () => Number(shell.stdout().trim()) || false);
  started.add(npm);
  await waitUntil('the shell to end', () => shell.child.exitCode !== null);
  const line = readFileSync(join(dir, 'ready'), 'utf8');
  if (line === '') throw new Error(`the system ended:\n${readFileSync(join(dir, 'log'), 'utf8')}`);
  const ready = JSON.parse(line) as ReadyLine;
  return { npm, ready, pids: ready.processes.map(({ pid }) => pid) };
}

function use({ chain, gateways, app }: ReadyLine) {
  if (chain === null) throw new Error('the test needs the demo chain');
  const client = makeCheckClient({ url: gateways[0] ?? '', apiKey: app.apiKey });
  return { client, check: { account: chain.holder, rules: [demoRules(chain).erc20()] } };
}

const expectToRun = ({ pids }: Background) => expect(pids.filter(isAlive)).toEqual(pids);

const untilAllGone = ({ npm, pids }: Background) =>
  waitUntil('every process to be gone', () => ![npm, ...pids].some(isAlive) && !isLocked());
const isLocked = (): boolean => existsSync(join(dir, 'data', 'starter.lock'));

let polledId: string;
let hookedId: string;
let receiver: WebhookReceiver;
afterAll(() => receiver?.[Symbol.asyncDispose]());

test('a system in the background outlives the shell that started it, and stops cleanly with npm', async () => {
  const system = await startInBackground(0);
  const { client, check } = use(system.ready);
  receiver = await receiveWebhooks({ secret: system.ready.app.webhookSecret });
  polledId = (await client.check({ ...check, async: true })).body.requestId ?? '';
  hookedId = (await client.check({ ...check, callbackUrl: receiver.url })).body.requestId ?? '';
  const pending = { requestId: polledId, status: 'pending', roles: [], errors: [] };
  expect(await client.poll(polledId, LONG_POLL_S)).toMatchObject({ status: 202, body: pending });
  expectToRun(system);
  process.kill(system.npm, 'SIGTERM');
  await untilAllGone(system);
});

test('a second start also outlives its shell, evaluates what the first has accepted, and ends when npm is killed', async () => {
  const system = await startInBackground(1);
  const { client } = use(system.ready);
  expect(await client.poll(polledId, 25)).toMatchObject({ status: 200, body: { status: 'completed' } });
  const webhook = await receiver.waitFor(({ requestId }) => requestId === hookedId);
  expect(webhook.verified).toBe(true);
  expectToRun(system);
  process.kill(system.npm, 'SIGKILL');
  await waitUntil('every process to be gone', () => !system.pids.some(isAlive));
});

test('neither the first nor the second start logs an error about a Kafka coordinator', () => {
  const log = readFileSync(join(dir, 'log'), 'utf8');
  expect(log.match(/joined consumer group/g)?.length).toBeGreaterThan(1);
  expect(log.split('\n').filter((line) => /coordinator/i.test(line))).toEqual([]);
});
