import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { type LoggedCheck, roleTagOf } from '#shared/contracts/checks/check-log.ts';
import { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { partially } from '../../../../test/support/builders/partially.ts';
import type { Dependencies } from '../../dependencies.ts';
import { CHECK_OPERATIONS, ChecksQuery } from './check-operations.ts';
import { makeCheckHandlers } from './handle-checks.ts';

const aCheck = (requestId: string, over: Partial<LoggedCheck> = {}): LoggedCheck => ({
  requestId,
  mode: 'sync',
  status: 'completed',
  acceptedAtMs: Date.UTC(2026, 10, 21),
  durationMs: 5,
  granted: 1,
  denied: 0,
  undetermined: 0,
  codes: [],
  keyId: 'key_1',
  roleTags: [roleTagOf('holder')],
  request: { partition: 0, offset: 0 },
  ...over,
});

const CHECKS = [
  aCheck('d', { mode: 'webhook', acceptedAtMs: Date.UTC(2026, 10, 22) }),
  aCheck('c', { granted: 0, denied: 2, keyId: 'key_2' }),
  aCheck('b', {
    status: 'failed',
    granted: 0,
    undetermined: 1,
    codes: ['contract-not-found'],
    roleTags: [roleTagOf('a b')],
  }),
  aCheck('a', { request: { partition: 3, offset: 17 }, waitedMs: 2, storedMs: 7 }),
];
/** A request as its topic has it. */
const parseGolden = () =>
  CheckRequested.parse(JSON.parse(readFileSync('test/contract/golden/check.requested.bulk.v1.json', 'utf8')));

const handlers = makeCheckHandlers(
  partially<Dependencies>({
    checkLog: {
      list: async () => [...CHECKS],
      find: async (_, requestId) => CHECKS.find((check) => check.requestId === requestId),
    },
    readSentCheck: async (_, { requestId }) =>
      requestId === 'a'
        ? {
            ...parseGolden(),
            account: `0x${'1'.repeat(40)}`,
            delivery: { mode: 'webhook', callbackUrl: "https://example.com/it's" },
          }
        : undefined,
    config: { gateway: { publicUrl: 'https://api.example.com' } },
    chains: [],
    results: { read: async (requestId) => (requestId === 'a' ? '{"status":"completed"}' : undefined) },
    deliveries: { read: async () => undefined },
  }),
);

const REQUEST = {
  app: { clientId: 'app_1' } as ClientApp,
  body: undefined,
  account: {} as Account,
  owner: {} as Account,
  idempotencyKey: '',
  address: '',
  visitor: { accountId: '', clientId: '' },
  browser: '',
  token: undefined,
  upload: undefined,
  setSession: async () => undefined,
  once: async () => Promise.reject(new Error('not asked for')),
};
/** As they are sent: with what the schemas of the answers name. */
const list = async (query: Record<string, string>) =>
  CHECK_OPERATIONS.listChecks.answer.parse(
    await handlers.listChecks({ ...REQUEST, query: ChecksQuery.parse(query), param: () => 'app_1' }),
  );
const read = async (requestId: string) =>
  CHECK_OPERATIONS.readCheck.answer.parse(
    await handlers.readCheck({
      ...REQUEST,
      query: undefined,
      param: (name) => (name === 'requestId' ? requestId : 'app_1'),
    }),
  );
const readRequest = (requestId: string) =>
  handlers.readCheckRequest({
    ...REQUEST,
    query: undefined,
    param: (name) => (name === 'requestId' ? requestId : 'app_1'),
  });
const idsOf = async (query: Record<string, string>) =>
  (await list(query)).checks.map(({ requestId }) => requestId);

test.each([
  [{}, ['d', 'c', 'b', 'a']],
  [{ mode: 'webhook' }, ['d']],
  [{ status: 'failed' }, ['b']],
  [{ outcome: 'denied' }, ['c']],
  [{ outcome: 'undetermined', code: 'contract-not-found' }, ['b']],
  [{ code: 'rpc-timeout' }, []],
  [{ since: '2026-11-22T00:00:00.000Z' }, ['d']],
  [{ requestId: 'a' }, ['a']],
  [{ roleId: 'a b' }, ['b']],
  [{ roleId: 'holder', keyId: 'key_1' }, ['d', 'a']],
  [{ keyId: 'key_3' }, []],
])('the filters %j find %j', async (query, ids) => {
  expect(await idsOf(query)).toEqual(ids);
});

test('pages follow each other without a gap or a repetition, and the last one has no next', async () => {
  const first = await list({ limit: '3' });
  expect([first.checks.length, first.next]).toEqual([3, 'b']);
  const second = await list({ limit: '3', after: 'b' });
  expect([second.checks.map(({ requestId }) => requestId), second.next]).toEqual([['a'], undefined]);
});

test('a check is listed with its key and without the hashes of its roles', async () => {
  const [check] = (await list({ requestId: 'c' })).checks;
  expect(check).toMatchObject({ requestId: 'c', keyId: 'key_2' });
  expect(check).not.toHaveProperty('roleTags');
});

test('a check is shown with its result, and without one after its retention', async () => {
  expect(await read('a')).toMatchObject({
    requestId: 'a',
    result: { status: 'completed' },
  });
  expect(await read('b')).not.toHaveProperty('result');
});

test('a check that is not in the log of the app is not found, even if a result of that id is stored', async () => {
  await expect(read('of-another-app')).rejects.toMatchObject({ code: 'not-found' });
});

test('a check is shown with the time until each step, and without its position in Kafka', async () => {
  const shown = await read('a');
  expect(shown.steps).toEqual([
    { name: 'accepted', afterMs: 0 },
    { name: 'started', afterMs: 2 },
    { name: 'evaluated', afterMs: 5 },
    { name: 'stored', afterMs: 7 },
  ]);
  expect(shown).not.toHaveProperty('request');
  expect((await read('b')).steps.map(({ name }) => name)).toEqual(['accepted', 'evaluated']);
});

test('the request of a check is shown as a shell command, or reported as deleted', async () => {
  const { body, curl } = await readRequest('a');
  expect(body).toMatchObject({ account: `0x${'1'.repeat(40)}`, callbackUrl: "https://example.com/it's" });
  const shell = spawnSync('sh', ['-c', `curl() { for a; do echo "$a"; done; }; ${curl}`], {
    env: { ROLECALL_API_KEY: 'rck_x' },
    encoding: 'utf8',
  });
  const words = shell.stdout.trim().split('\n');
  expect(words).toContain('https://api.example.com/access-control/check-roles');
  expect(words).toContain('x-api-key: rck_x');
  expect(JSON.parse(words.at(-1) ?? '')).toEqual(body);
  await expect(readRequest('b')).rejects.toThrow('kept for 7 days');
  await expect(readRequest('of-another-app')).rejects.toMatchObject({ code: 'not-found' });
});
