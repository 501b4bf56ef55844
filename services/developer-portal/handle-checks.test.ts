import type { LoggedCheck } from '#shared/contracts/check-log.ts';
import type { Account, ClientApp } from '#shared/contracts/client-app.ts';
import { ChecksQuery } from './api.ts';
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
  ...over,
});

const CHECKS = [
  aCheck('d', { mode: 'webhook', acceptedAtMs: Date.UTC(2026, 10, 22) }),
  aCheck('c', { granted: 0, denied: 2 }),
  aCheck('b', { status: 'failed', granted: 0, undetermined: 1, codes: ['contract-not-found'] }),
  aCheck('a'),
];

const handlers = makeCheckHandlers({
  readOwn: async () => ({ clientId: 'app_1' }) as ClientApp,
  checkLog: { list: async () => [...CHECKS] },
  results: { read: async (requestId) => (requestId === 'a' ? '{"status":"completed"}' : undefined) },
  deliveries: { read: async () => undefined },
});

const REQUEST = {
  body: undefined,
  account: {} as Account,
  idempotencyKey: '',
  address: '',
  token: undefined,
  setSessionToken: () => undefined,
};
const list = (query: Record<string, string>) =>
  handlers.listChecks({ ...REQUEST, query: ChecksQuery.parse(query), param: () => 'app_1' });
const read = (requestId: string) =>
  handlers.readCheck({
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
])('the filters %j find %j', async (query, ids) => {
  expect(await idsOf(query)).toEqual(ids);
});

test('pages follow each other without a gap or a repetition, and the last one has no next', async () => {
  const first = await list({ limit: '3' });
  expect([first.checks.length, first.next]).toEqual([3, 'b']);
  const second = await list({ limit: '3', before: 'b' });
  expect([second.checks.map(({ requestId }) => requestId), second.next]).toEqual([['a'], undefined]);
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
