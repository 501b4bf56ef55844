import { FairShares } from '#shared/fairness/fair-shares.ts';
import type { RedisConnection } from '#shared/redis/connect.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { type Batches, makeBatches } from '#shared/stores/batches/batches.ts';
import { type Admitter, claimKey, makeAdmitter } from '#shared/stores/checks/admit.ts';
import { aBatchPartCompleted } from '../../support/builders/a-batch.ts';
import { connectTestRedis, testConfig } from '../../support/infrastructure/connections.ts';

// Scenario: batches of several accounts are admitted, in a database of a real Redis that only this
// file uses. Entries count as unfinished from the admission on, until they are stored or the batch
// has ended otherwise.

let connection: RedisConnection;
let admitter: Admitter;
let batches: Batches;
let seedCount = 0;

beforeAll(async () => {
  connection = await connectTestRedis(testConfig(1));
  admitter = makeAdmitter(connection.redis, Date.now);
  batches = makeBatches(connection.redis);
});
afterAll(async () => {
  await connection[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await connection.redis.flushdb();
  await connection.redis.set(GENERATION_KEY, 'test');
});

async function admit(accountId: string, clientId: string, cost: number) {
  seedCount += 1;
  const seed = `seed${seedCount}`;
  const { outcome } = await admitter.admit({
    clientId,
    accountId,
    limits: { requestsPerSecond: 1_000_000, requestsPerMonth: 1_000_000_000 },
    bucket: 'per-second',
    check: { seed, cost, batchOf: accountId },
  });
  return { outcome, seed };
}

const held = () => connection.redis.hgetall('batches:held');
const aBatch = (part = 0) =>
  aBatchPartCompleted('app', { requestId: 'r', accountId: 'acc', part, firstIndex: part * 2 });

test('refuses as fair shares do, by account, then by app, in entries', async () => {
  const shares = new FairShares(1_000_000, { place: 100_000 });
  let state = 1;
  const random = (max: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % max;
  };
  const outcomes = new Set<string>();
  for (let i = 0; i < 300; i += 1) {
    const accountId = `acc_${random(6)}`;
    const owner = { accountId, clientId: `${accountId}/${random(3)}` };
    const cost = 1 + random(60_000);
    const { outcome } = await admit(accountId, owner.clientId, cost);
    expect([i, outcome]).toEqual([i, shares.take(owner, cost) ? 'fresh' : 'lane-full']);
    outcomes.add(outcome);
  }
  expect(outcomes.size).toBe(2);
  expect(Number((await held())['all'])).toBe(shares.count);
});

test('an account with 500 apps leaves places to another one, and a refusal charges nothing', async () => {
  for (let app = 0; app < 500; app += 1) await admit('acc_big', `app_${app}`, 10_000);
  expect(Number((await held())['account:acc_big'])).toBeLessThanOrEqual(375_000);
  expect((await admit('acc_big', 'app_last', 10_000)).outcome).toBe('lane-full');
  expect(await connection.redis.keys('quota:{app_last}:*')).toEqual([]);
  expect((await admit('acc_other', 'app_other', 100_000)).outcome).toBe('fresh');
});

test('a trial is answered as the admission would be, and charges, holds and claims nothing', async () => {
  const claim = { keyHash: 'a'.repeat(64), bodyHash: 'b'.repeat(64) };
  const ask = async (isTrial: boolean, cost: number) => {
    const {
      outcome,
      month,
      claim: found,
    } = await admitter.admit({
      ...{ clientId: 'app', accountId: 'acc', bucket: 'per-second', isPaid: true },
      limits: { requestsPerSecond: 10, requestsPerMonth: 150_000 },
      check: { seed: 'seed', cost, batchOf: 'acc', claim, isTrial },
    });
    return [outcome, month?.remaining, found?.seed];
  };
  expect(await ask(true, 150_001)).toEqual(['quota-exceeded', 150_000, undefined]);
  await connection.redis.hset('batches:held', 'all', 950_000);
  expect(await ask(true, 100_000)).toEqual(['lane-full', 150_000, undefined]);
  await connection.redis.del('batches:held');
  expect(await ask(true, 100_000)).toEqual(['counted', 150_000, undefined]);
  expect(await held()).toEqual({});
  expect(await ask(false, 100_000)).toEqual(['fresh', 50_000, undefined]);
  // The claim answers, whatever is left.
  expect(await ask(true, 100_000)).toEqual(['claimed', 50_000, 'seed']);
  await connection.redis.hset(claimKey('app', claim.keyHash), 'touched', 1);
  expect(await ask(true, 100_000)).toEqual(['counted', 50_000, 'seed']);
  expect(await ask(false, 100_000)).toEqual(['taken-over', 50_000, 'seed']);
});

test('entries are free again part by part, whatever the size of the parts, and a copy frees nothing', async () => {
  const { seed } = await admit('acc', 'app', 4);
  await batches.begin({ ...aBatch(), roleIds: ['r'] }, undefined, seed);
  expect(await held()).toEqual({ all: '4', 'account:acc': '4', 'app:app': '4', 'of:r': 'acc app 4' });
  for (let copy = 0; copy < 2; copy += 1) await batches.savePart(aBatch());
  expect(await held()).toMatchObject({ all: '2', 'of:r': 'acc app 2' });
  await batches.savePart(aBatch(1));
  expect(await held()).toEqual({});
  expect(await connection.redis.exists('batches:held-until')).toBe(0);
});

test('a batch that is withdrawn or abandoned holds nothing', async () => {
  const first = await admit('acc', 'app', 4);
  await batches.begin({ ...aBatch(), roleIds: ['r'] }, undefined, first.seed);
  await batches.withdraw({ ...aBatch(), seed: first.seed });
  expect(await held()).toEqual({});
  const second = await admit('acc', 'app', 4);
  await batches.begin({ ...aBatch(), roleIds: ['r'] }, undefined, second.seed);
  await batches.abandon(10, 0);
  expect(await held()).toEqual({});
});

test('an admitted batch that never began is free after its time', async () => {
  const { seed } = await admit('acc', 'app', 4);
  await connection.redis.zadd('batches:held-until', 1, seed);
  await admit('acc_2', 'app_2', 3);
  expect(await held()).toMatchObject({ all: '3', 'account:acc_2': '3' });
});

test('an open batch that is registered anew, as by a rebuild, holds its entries that are not stored', async () => {
  await batches.register({ ...aBatch(), roleIds: ['r'] }, true);
  expect(await held()).toMatchObject({ all: '4', 'of:r': 'acc app 4' });
  await batches.savePart(aBatch());
  await batches.register({ ...aBatch(), roleIds: ['r'] }, true);
  expect(await held()).toMatchObject({ all: '2' });
});
