import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import {
  type BatchPartRequested,
  checkRequestedBatch,
  PART_ENTRIES_MAX,
} from '#shared/contracts/batches/batch.ts';
import { BATCH_PATH } from '#shared/contracts/paths.ts';
import { type Batches, makeBatches, unfinishedBatchesKey } from '#shared/stores/batches/batches.ts';
import { logKey } from '#shared/stores/checks/admit.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import {
  type RunningGateway,
  startGateway,
  type TestApp,
  testGateways,
} from '../../support/systems/start-gateway.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: two real gateway processes with a heap of 256 MB before a real Kafka and a real Redis.
// The test itself plays the evaluator and the result-store, so that it decides when a part is
// finished.

const HEAP = { NODE_OPTIONS: '--max-old-space-size=256' };
const RULES = [{ type: 'NATIVE', chainId: 31_337, roleId: 'holder' }];
const NDJSON = 'application/x-ndjson';
const BREAK_OFFS_MAX = 20;
/** Enough parts that a gateway takes a while to publish them. */
const BROKEN_ENTRIES = 40_000;

const stores = testStores(15);
let batches: Batches;
const { gateways, anApp } = testGateways(stores, HEAP);
const seen: BatchPartRequested[] = [];

const accountOf = (index: number): string => `0x${(index + 1).toString(16).padStart(40, '0')}`;
const accountsOf = (count: number): string[] => Array.from({ length: count }, (_, index) => accountOf(index));
const linesOf = (head: unknown, entries: readonly unknown[]): string =>
  [head, ...entries].map((line) => `${JSON.stringify(line)}\n`).join('');

type Sent = { readonly type?: string; readonly key?: string; readonly gateway?: RunningGateway };
const post = (app: TestApp, body: unknown, { type = 'application/json', key, gateway }: Sent = {}) =>
  fetch(`${(gateway ?? gateways[0]).url}${BATCH_PATH}`, {
    method: 'POST',
    headers: {
      'x-api-key': app.apiKey,
      'content-type': type,
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const acknowledgementOf = async (response: Response) =>
  (await response.json()) as { requestId: string; entries: number };
const partsOf = (requestId: string) => seen.filter((part) => part.requestId === requestId);
const monthTotal = async ({ document }: TestApp): Promise<number> => {
  const [key = ''] = await stores.redis.keys(`quota:{${document.clientId}}:*`);
  return key === '' ? 0 : Number(await stores.redis.get(key));
};

/** Stores the results of a part, as the evaluator and the result-store would. */
async function finish({
  entries,
  rules: _,
  onUndetermined: __,
  consistency: ___,
  ...part
}: BatchPartRequested) {
  const lines = entries.map(
    ({ account }, index) => `${JSON.stringify({ index: part.firstIndex + index, account })}\n`,
  );
  await batches.savePart({
    ...part,
    lineCount: entries.length,
    roles: [{ id: 'holder', granted: entries.length, denied: 0, undetermined: 0 }],
    refundCount: 0,
    failedCount: 0,
    evaluatedAt: new Date().toISOString(),
    linesGzip: gzipSync(lines.join('')).toString('base64'),
  });
}

/** Kills a gateway while it publishes a batch, and repeats that if the gateway was too fast. */
async function breakOff(text: string, key: string): Promise<{ app: TestApp; requestId: string }> {
  const publishing = 'batches:publishing';
  for (let attempt = 0; attempt < BREAK_OFFS_MAX; attempt += 1) {
    const app = await anApp();
    await using gateway = await startGateway(stores.config);
    await stores.redis.del(publishing);
    let isAnswered = false;
    const answered = post(app, text, { type: NDJSON, key, gateway })
      .catch(() => undefined)
      .then(() => {
        isAnswered = true;
      });
    let requestId: string | undefined;
    while (requestId === undefined && !isAnswered)
      [requestId] = await stores.redis.zrange(publishing, '0', '-1');
    gateway.process.child.kill('SIGKILL');
    await answered;
    if (requestId !== undefined && (await stores.redis.zscore(publishing, requestId)) !== null)
      return { app, requestId };
  }
  throw new Error('every gateway had published its batch before it was killed');
}

beforeAll(async () => {
  batches = makeBatches(stores.redis);
  await stores.use(
    stores.kafka.consume({
      groupId: `test.${randomUUID()}`,
      topics: [checkRequestedBatch],
      window: 100,
      handle: async (message) => void seen.push(message),
    }),
  );
});

describe('a batch at a real gateway', () => {
  it('may have 100 000 entries: a heap of 256 MB suffices, and every entry is published once', async () => {
    const app = await anApp();
    const text = linesOf({ rules: RULES }, accountsOf(100_000));
    const accepted = await post(app, text, { type: NDJSON });
    expect(accepted.status).toBe(202);
    const { requestId, entries } = await acknowledgementOf(accepted);
    expect(entries).toBe(100_000);
    const parts = await waitUntil('every part', () => {
      const found = partsOf(requestId);
      return found.length >= 200 && found;
    });
    const accounts = parts
      .sort((a, b) => a.part - b.part)
      .flatMap((part) => part.entries.map(({ account }) => account));
    expect(accounts).toEqual(accountsOf(100_000));
    expect(await monthTotal(app)).toBe(100_000);
    expect(gateways[0].process.child.exitCode).toBeNull();
  });

  it('goes from pending to completed, and its results are read meanwhile from any gateway', async () => {
    const app = await anApp();
    const accepted = await post(app, { entries: accountsOf(700), rules: RULES });
    const { requestId } = await acknowledgementOf(accepted);
    const path = accepted.headers.get('location') ?? '';
    const pending = await gateways[1].get(app, path);
    expect(await pending.json()).toMatchObject({
      requestId,
      status: 'pending',
      entries: 700,
      done: 0,
      roles: [{ id: 'holder', granted: 0, denied: 0, undetermined: 0 }],
    });
    expect((await gateways[1].get(app, `${path}/results`)).status).toBe(202);
    const parts = await waitUntil('both parts', () => {
      const found = partsOf(requestId).sort((a, b) => a.part - b.part);
      return found.length === 2 && found;
    });
    await finish(parts[0] as BatchPartRequested);
    const page = await gateways[1].get(app, `${path}/results`);
    expect(page.headers.get('link')).toBe(`<${path}/results?from=500>; rel="next"`);
    expect((await page.text()).split('\n')).toHaveLength(501);
    const waiting = gateways[1].get(app, path, { prefer: 'wait=20' });
    await finish(parts[1] as BatchPartRequested);
    expect(await (await waiting).json()).toMatchObject({ status: 'completed', done: 700 });
    const rest = await gateways[0].get(app, `${path}/results?from=500`);
    expect(rest.headers.get('link')).toBeNull();
    expect((await rest.text()).split('\n')[199]).toBe(
      JSON.stringify({ index: 699, account: accountOf(699) }),
    );
  });

  it('is one batch, charged once, if two gateways get it with one idempotency key', async () => {
    const app = await anApp();
    const key = randomUUID();
    const batch = { entries: accountsOf(600), rules: RULES };
    const first = await post(app, batch, { key });
    const { requestId } = await acknowledgementOf(first);
    const replay = await post(app, linesOf({ rules: RULES }, batch.entries), {
      key,
      type: NDJSON,
      gateway: gateways[1],
    });
    expect([replay.status, replay.headers.get('idempotency-replayed')]).toEqual([202, 'true']);
    expect(await acknowledgementOf(replay)).toEqual({ requestId, entries: 600 });
    const other = await post(app, { ...batch, entries: accountsOf(599) }, { key });
    expect([other.status, await other.json()]).toMatchObject([422, { code: 'idempotency-key-reused' }]);
    expect(await monthTotal(app)).toBe(600);
  });

  it('is published again with the same parts and the same id if it was claimed and never marked published', async () => {
    const app = await anApp();
    const key = randomUUID();
    const batch = { entries: accountsOf(1_100), rules: RULES };
    const { requestId } = await acknowledgementOf(await post(app, batch, { key }));
    const [claim = ''] = await stores.redis.keys(`claim:{${app.document.clientId}}:*`);
    await stores.redis.hset(claim, 'state', 'claimed', 'touched', '0');
    await stores.redis.hdel(claim, 'id');
    const retry = await post(app, batch, { key, gateway: gateways[1] });
    expect(await acknowledgementOf(retry)).toEqual({ requestId, entries: 1_100 });
    const parts = await waitUntil('both copies', () => {
      const found = partsOf(requestId);
      return found.length >= 6 && found;
    });
    const texts = parts.map((part) => JSON.stringify(part));
    expect(new Set(texts).size).toBe(3);
    expect(await monthTotal(app)).toBe(1_100);
  });

  it('is charged as a whole or not at all', async () => {
    const app = await anApp({ tier: 'paid', requestsPerMonth: 1_000 });
    const answers = [];
    for (const count of [700, 400, 300])
      answers.push((await post(app, { entries: accountsOf(count), rules: RULES })).status);
    expect(answers).toEqual([202, 429, 202]);
    expect(await monthTotal(app)).toBe(1_000);
  });

  it('is one of two that a free app may have unfinished; a finished one makes room', async () => {
    const app = await anApp({ tier: 'free' });
    const batch = { entries: accountsOf(3), rules: RULES };
    const { requestId } = await acknowledgementOf(await post(app, batch));
    expect((await post(app, batch, { gateway: gateways[1] })).status).toBe(202);
    const third = await post(app, batch);
    expect([third.status, await third.json()]).toMatchObject([409, { code: 'limit-reached' }]);
    expect(await monthTotal(app)).toBe(6);
    const [part] = await waitUntil('the part', () => partsOf(requestId).length > 0 && partsOf(requestId));
    await finish(part as BatchPartRequested);
    expect((await post(app, batch)).status).toBe(202);
    expect(await batches.countUnfinished(Date.now())).toBeGreaterThanOrEqual(2);
  });

  it('leaves no data behind if its client disconnects in the middle', async () => {
    const app = await anApp();
    for (let i = 0; i < 20; i += 1) {
      const outgoing = httpRequest(`${gateways[0].url}${BATCH_PATH}`, {
        method: 'POST',
        headers: { 'x-api-key': app.apiKey, 'content-type': NDJSON },
      });
      const ended = new Promise((resolve) => outgoing.on('error', resolve).on('close', resolve));
      outgoing.write(linesOf({ rules: RULES }, accountsOf(2_000)));
      setImmediate(() => outgoing.destroy());
      await ended;
    }
    await waitUntil(
      'the next body to be read',
      async () => (await post(app, { entries: accountsOf(1), rules: RULES })).status === 202,
    );
    expect(await monthTotal(app)).toBe(1);
  });

  it.each([
    ['ends in the middle of a line', `${linesOf({ rules: RULES }, accountsOf(600))}"0x12`, NDJSON, 400],
    [
      'has a line above 8 KiB',
      linesOf({ rules: RULES }, [{ account: accountOf(1), ref: 'x'.repeat(9_000) }]),
      NDJSON,
      413,
    ],
    ['never ends its first line', `{"rules":"${'x'.repeat(2_200_000)}`, NDJSON, 413],
    ['nests without end', '['.repeat(1_500_000), 'application/json', 400],
  ])('whose body %s is refused, charges nothing and leaves nothing', async (_, body, type, status) => {
    const app = await anApp();
    expect((await post(app, body, { type })).status).toBe(status);
    expect(await monthTotal(app)).toBe(0);
    expect(await stores.redis.exists(unfinishedBatchesKey(app.document.clientId))).toBe(0);
    expect((await post(app, { entries: accountsOf(1), rules: RULES })).status).toBe(202);
  });

  it('hinders neither another app nor a later batch of its own if it arrives byte by byte', async () => {
    const [slow, other] = [await anApp(), await anApp()];
    const outgoing = httpRequest(`${gateways[0].url}${BATCH_PATH}`, {
      method: 'POST',
      headers: { 'x-api-key': slow.apiKey, 'content-type': NDJSON },
    });
    const ended = new Promise((resolve) => outgoing.on('error', resolve).on('close', resolve));
    const batch = { entries: accountsOf(1), rules: RULES };
    outgoing.write('{');
    // The rate is charged before the body is read, and later requests of the app are charged after
    // it.
    const log = logKey(slow.document.clientId, 'per-second');
    await waitUntil('the slow request', async () => (await stores.redis.exists(log)) === 1);
    expect((await post(slow, batch)).status).toBe(503);
    outgoing.write('"');
    expect((await post(other, batch)).status).toBe(202);
    outgoing.destroy();
    await ended;
    await waitUntil('the next body to be read', async () => (await post(slow, batch)).status === 202);
    expect(await monthTotal(slow)).toBe(1);
  });

  it('is abandoned and refunded if its gateway is killed while publishing, and a retry completes it', async () => {
    const key = randomUUID();
    const text = linesOf({ rules: RULES }, accountsOf(BROKEN_ENTRIES));
    const { app, requestId } = await breakOff(text, key);
    const { clientId } = app.document;
    // The slot is leased: it is free again before the next minute.
    const leaseEndsAt = Number(await stores.redis.zscore(unfinishedBatchesKey(clientId), requestId));
    expect(leaseEndsAt).toBeLessThan(Date.now() + 60_000);
    expect(await monthTotal(app)).toBe(BROKEN_ENTRIES);
    expect(await batches.abandon(10)).toBe(0);
    expect(await batches.abandon(10, 0)).toBe(1);
    const path = `${BATCH_PATH}/${requestId}`;
    const status = async () => (await (await gateways[1].get(app, path)).json()) as { status: string };
    expect([await monthTotal(app), await status()]).toMatchObject([0, { code: 'request-not-found' }]);
    expect(await batches.readStatus(requestId)).toMatchObject({ status: 'abandoned', done: 0 });

    const [claim = ''] = await stores.redis.keys(`claim:{${clientId}}:*`);
    await stores.redis.hset(claim, 'touched', '0');
    const retry = await post(app, text, { type: NDJSON, key, gateway: gateways[1] });
    expect([retry.status, await acknowledgementOf(retry)]).toEqual([
      202,
      { requestId, entries: BROKEN_ENTRIES },
    ]);
    expect([await monthTotal(app), await status()]).toMatchObject([BROKEN_ENTRIES, { status: 'pending' }]);
    const parts = await waitUntil('every part', () => {
      const found = new Map(partsOf(requestId).map((part) => [part.part, part]));
      return found.size === BROKEN_ENTRIES / PART_ENTRIES_MAX && found;
    });
    for (const part of parts.values()) await finish(part);
    expect([await monthTotal(app), await status()]).toMatchObject([BROKEN_ENTRIES, { status: 'completed' }]);
    expect(await stores.redis.exists(unfinishedBatchesKey(clientId))).toBe(0);
  });
});
