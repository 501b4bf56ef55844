// `npm run test:upgrade`: starts the last release, gives it work of every kind, stops it, and
// starts this version on its data. `upgradeFrom` in package.json names the release as a Git tag;
// `-- REF` names another commit. It exits with 1 if something is missing, the tag too.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkRequestedBulk } from '#shared/contracts/checks/check-requested.ts';
import type { CheckResult } from '#shared/contracts/checks/result.ts';
import { WATCHES_PATH } from '#shared/contracts/paths.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { openSystem } from '../../services/developer-portal/admin/open-system.ts';
import { demoRules } from '../support/builders/demo-rules.ts';
import { receiveWebhooks } from '../support/fakes/receive-webhooks.ts';
import { makeBatchClient } from '../support/systems/batch-client.ts';
import type { RunningSystem } from '../support/systems/running-system.ts';
import { type StartedSystem, startSystem } from '../support/systems/start-system.ts';
import { waitUntil } from '../support/wait-until.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** A webhook waits for a minute for its third attempt, and for six for its fourth: longer than the
 * stop and the start. */
const ENVIRONMENT = { WEBHOOK_SCHEDULE_SCALE: '0.2', WEBHOOK_CONNECT_TIMEOUT_MS: '1000' };
const WAIT_MS_MAX = 120_000;
const RETRY_MS_MAX = 480_000;
const RETRYING = 3;
const BACKLOG = 12;
const RULE_SET = 'holders';
const WATCH = 'members';
const KEY = 'sent-before-the-upgrade';
/** As a shell says that a program was ended by Ctrl-C. */
const INTERRUPTED = 130;

type Receivers = Readonly<Record<'healthy' | 'failing', Awaited<ReturnType<typeof receiveWebhooks>>>>;
type Filled = Awaited<ReturnType<typeof fill>>;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
async function upgrade(): Promise<number> {
  await using scope = new AsyncDisposableStack();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => scope.disposeAsync().finally(() => process.exit(INTERRUPTED)));
  const { root, dataDir } = checkOut(scope);
  say(`${release} is prepared`);
  const earlier = scope.use(await startSystem({ root, dataDir, env: ENVIRONMENT }));
  const { webhookSecret: secret } = earlier.ready.app;
  const receivers: Receivers = {
    healthy: scope.use(await receiveWebhooks({ secret })),
    failing: scope.use(await receiveWebhooks({ secret, answer: 503 })),
  };
  const filled = await fill(earlier, receivers);
  const backlog = await stopOverBacklog(earlier, receivers);
  say(`${release} has stopped`);
  receivers.failing.setAnswer(204);
  const { portBase } = earlier;
  const system = scope.use(await startSystem({ portBase, dataDir, env: ENVIRONMENT }));
  say('this version is ready on its data');
  return await examine(system, receivers, filled, backlog);
}

/** Checks the release out into a temporary directory, and prepares it as its own `npm start`
 * would. */
function checkOut(scope: AsyncDisposableStack): { readonly root: string; readonly dataDir: string } {
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-upgrade-'));
  const root = join(dir, 'release');
  const dataDir = join(dir, 'data');
  scope.defer(() => {
    spawnSync('git', ['worktree', 'remove', '--force', root], { cwd: ROOT });
    rmSync(dir, { recursive: true, force: true });
  });
  mkdirSync(dataDir);
  const added = spawnSync('git', ['worktree', 'add', '--detach', root, release], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (added.status !== 0)
    throw new Error(
      `Git cannot check ${release} out. \`git fetch --tags\` brings the tags of releases; ` +
        `\`npm run test:upgrade -- REF\` begins at another commit. ${added.stderr}`,
    );
  const prepared = spawnSync(process.execPath, ['deploy/local/setup.mjs'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (prepared.status !== 0) throw new Error(`${release} could not be prepared; its output is above`);
  return { root, dataDir };
}

const holderRules = ({ chain }: RunningSystem) => [
  demoRules(chain).erc20({ roleId: 'member', minToken: '1500.5' }),
  demoRules(chain).erc721({ roleId: 'member', tokenId: '1' }),
];

/** Sends a check of the holder, who has the tokens. @throws Error unless it is accepted */
async function accept(system: RunningSystem, more: object = {}, headers = {}): Promise<string> {
  const { chain, client } = system;
  const { status, text, body } = await client.check(
    { account: chain.holder, rules: holderRules(system), ...more },
    headers,
  );
  if (status >= 300 || body.requestId === undefined)
    throw new Error(`a check was answered ${status} ${text}`);
  return body.requestId;
}

/** The bytes of a result, waited for. */
const resultOf = ({ client }: RunningSystem, requestId: string): Promise<string> =>
  waitUntil(
    `the result of ${requestId}`,
    async () => {
      const { status, text } = await client.poll(requestId);
      return status === 200 && text;
    },
    WAIT_MS_MAX,
  );

const addMember = (system: RunningSystem, ref: string, account: string) =>
  system.client.mustSend('POST', `${WATCHES_PATH}/${WATCH}/members`, { add: [{ account, ref }] });

/** The roles in the first event of a watched member, waited for. */
const firstRolesOf = async ({ healthy }: Receivers, ref: string): Promise<unknown> => {
  const { body } = await healthy.waitFor(({ body }) => body.includes(`"ref":"${ref}"`), WAIT_MS_MAX);
  return (JSON.parse(body) as { readonly roles: unknown }).roles;
};

const batchesOf = ({ ready }: RunningSystem) =>
  makeBatchClient({ url: ready.gateways[0] ?? '', apiKey: ready.app.apiKey });

const admin = async (system: RunningSystem, ...args: string[]): Promise<unknown> => {
  const { exitCode, value, stderr } = await system.admin(...args);
  if (exitCode !== 0) throw new Error(`admin ${args.join(' ')}: ${stderr}`);
  return value;
};

/** Work of every kind. Returns when nothing but webhooks that wait for their next attempt is left
 * to do. */
async function fill(system: RunningSystem, receivers: Receivers) {
  const { healthy, failing } = receivers;
  const { chain } = system;
  const finished = [
    await accept(system),
    await accept(system, { async: true }, { 'idempotency-key': KEY }),
    await accept(system, { callbackUrl: healthy.url }),
  ];
  const results = await Promise.all(finished.map((requestId) => resultOf(system, requestId)));
  await healthy.waitFor(({ requestId }) => requestId === finished[2], WAIT_MS_MAX);
  const batches = batchesOf(system);
  const batchId = await batches.post({ rules: holderRules(system) }, [chain.holder, chain.stranger]);
  await batches.wait(batchId, WAIT_MS_MAX);

  await system.client.mustSend('PUT', `/access-control/rule-sets/${RULE_SET}`, {
    rules: holderRules(system),
  });
  await system.client.mustSend('PUT', `${WATCHES_PATH}/${WATCH}`, {
    ruleSet: RULE_SET,
    callbackUrl: healthy.url,
    everySeconds: 604_800,
  });
  await addMember(system, 'before', chain.holder);
  const firstRoles = await firstRolesOf(receivers, 'before');

  await using open = await openSystem(system.environment());
  await open.kafka.publishRecord(checkRequestedBulk.name, { key: 'poison', value: 'not JSON' });
  await waitUntil('the unreadable record to be dead-lettered', async () =>
    JSON.stringify(await admin(system, 'dead-letter', 'list', checkRequestedBulk.name)).includes('poison'),
  );

  const retrying: { requestId: string; attempts: number; text: string }[] = [];
  for (let i = 0; i < RETRYING; i++) {
    const requestId = await accept(system, { callbackUrl: failing.url });
    retrying.push({ requestId, attempts: 0, text: await resultOf(system, requestId) });
  }
  for (const one of retrying)
    one.attempts = await waitUntil('a second attempt', () => {
      const made = failing.deliveries.filter(({ requestId }) => requestId === one.requestId).length;
      return made >= 2 && made;
    });
  return { finished, results, batchId, lines: await batches.lines(batchId), firstRoles, retrying };
}

/**
 * Accepts checks without evaluating them, and stops the system: the evaluators are frozen from
 * before the first check, and are killed once the starter no longer starts them again.
 */
async function stopOverBacklog(system: StartedSystem, { healthy }: Receivers): Promise<string[]> {
  const evaluators = system.pidsOf('evaluator');
  for (const pid of evaluators) process.kill(pid, 'SIGSTOP');
  const backlog: string[] = [];
  for (let i = 0; i < BACKLOG; i++) backlog.push(await accept(system, { callbackUrl: healthy.url }));
  const stopped = system.stop();
  await waitUntil('the stop to begin', () => system.log().includes('stopping'));
  for (const pid of evaluators) process.kill(pid, 'SIGKILL');
  await stopped;
  return backlog;
}

/** Looks for everything that the release held. Returns the exit code. */
async function examine(
  system: RunningSystem,
  receivers: Receivers,
  filled: Filled,
  backlog: readonly string[],
): Promise<number> {
  let failed = 0;
  const check = async (guarantee: string, look: () => Promise<unknown>): Promise<void> => {
    const fault = await look().then(
      () => undefined,
      (error: unknown) => String(error),
    );
    say(fault === undefined ? `kept    ${guarantee}` : `BROKEN  ${guarantee}: ${fault}`);
    if (fault !== undefined) failed++;
  };
  const keepsResults = async () => {
    const found = await Promise.all(filled.finished.map((requestId) => resultOf(system, requestId)));
    assert.deepEqual(found, filled.results);
    assert.deepEqual(await batchesOf(system).lines(filled.batchId), filled.lines);
  };
  const { healthy, failing } = receivers;
  await check('results and the lines of a batch have the same bytes', keepsResults);
  await check('an idempotency key is answered with the check that it began', async () =>
    assert.equal(await accept(system, { async: true }, { 'idempotency-key': KEY }), filled.finished[1]),
  );
  await check('checks that nobody had evaluated are evaluated and delivered', async () => {
    for (const id of backlog) {
      const text = await resultOf(system, id);
      assert.ok((JSON.parse(text) as CheckResult).roles.every(({ granted }) => granted));
      const webhook = await healthy.waitFor(({ requestId }) => requestId === id, WAIT_MS_MAX);
      assert.deepEqual([webhook.body, webhook.verified], [text, true]);
    }
  });
  await check('a pending retry is delivered, with the same id and bytes, as the next attempt', async () => {
    for (const { requestId: id, attempts, text } of filled.retrying) {
      const webhook = await failing.waitFor(
        ({ requestId, status }) => requestId === id && status === 204,
        RETRY_MS_MAX,
      );
      assert.deepEqual([webhook.body, webhook.verified], [text, true]);
      assert.ok(webhook.attempt > attempts, `attempt ${webhook.attempt} after ${attempts}`);
      const ids = failing.deliveries.filter(({ requestId }) => requestId === id).map((one) => one.id);
      assert.equal(new Set(ids).size, 1);
    }
  });
  await check('a dead-lettered record is redriven, and dead-lettered again', async () => {
    const redriven = await admin(system, 'dead-letter', 'redrive', checkRequestedBulk.name);
    assert.deepEqual(redriven, { count: 1, skipped: 0 });
    await waitUntil('it to be in the list', async () =>
      JSON.stringify(await admin(system, 'dead-letter', 'list', checkRequestedBulk.name)).includes('poison'),
    );
  });
  await check('a watch keeps its members, and checks a new one', async () => {
    assert.equal(
      (await system.client.mustSend<{ members: number }>('GET', `${WATCHES_PATH}/${WATCH}`)).members,
      1,
    );
    await addMember(system, 'after', system.chain.holder.toLowerCase().replace(/.$/, '0'));
    await firstRolesOf(receivers, 'after');
    const revoked = healthy.deliveries.filter(
      ({ body }) => body.includes('"ref":"before"') && body.includes('"granted":false'),
    );
    assert.deepEqual(revoked, []);
  });
  await check('the views are rebuilt from the topics of the release', async () => {
    await admin(system, 'store', 'rebuild');
    await keepsResults();
  });
  say(failed === 0 ? 'the data was upgraded' : `${failed} guarantees are broken`);
  return failed === 0 ? 0 : 1;
}

const release = process.argv[2] ?? packageJson.upgradeFrom;
process.exitCode = await upgrade();
