import { type Answers, type Step, startAnswers } from '../../test/support/client/answer-by-steps.ts';
import type { BatchLine } from './api-types.ts';
import { Rolecall } from './rolecall.ts';

const ENTRIES = ['0xa', { account: '0xb', ref: 'discord:2' }, { accounts: ['0xc', '0xd'], ref: 'discord:3' }];
const RULES = [{ type: 'NATIVE', chainId: 1, roleId: 'holder' }] as const;

let answers: Answers;
afterEach(() => answers?.[Symbol.asyncDispose]());
async function start(...steps: readonly Step[]): Promise<Rolecall> {
  answers = await startAnswers(...steps);
  return client();
}
const client = (timeoutMs = 30_000) =>
  new Rolecall({ baseUrl: answers.url, apiKey: 'rck_live_secret', timeoutMs });
const lines = (...indexes: readonly number[]): Step => ({
  do: 'answer',
  status: 200,
  headers: { 'content-type': 'application/x-ndjson' },
  body: indexes
    .map(
      (index) =>
        `${JSON.stringify({ index, status: 'completed', roles: [], errors: [], blockNumbers: {} })}\n`,
    )
    .join(''),
});
const json = (status: number, body: object): Step => ({
  do: 'answer',
  status,
  headers: { 'content-type': 'application/json', 'retry-after': '0' },
  body: JSON.stringify(body),
});
const notYet = json(202, { requestId: 'x', status: 'pending' });
const pending = json(200, { requestId: 'x', status: 'pending' });

async function collect(batch: AsyncIterable<BatchLine>): Promise<number[]> {
  const found: number[] = [];
  for await (const { index } of batch) found.push(index);
  return found;
}

test('a batch is sent once as NDJSON, and its lines come in order while parts finish', async () => {
  const rolecall = await start(
    { do: 'reset' },
    { do: 'accept' },
    notYet,
    pending,
    lines(0, 1),
    { do: 'reset' },
    lines(2),
    lines(),
  );
  const accepted: string[] = [];
  const batch = rolecall.batch({ entries: ENTRIES, rules: RULES }, { onAccepted: (id) => accepted.push(id) });
  expect(await collect(batch)).toEqual([0, 1, 2]);
  expect([...answers.checks.values()]).toEqual(accepted);
  const [first, second] = answers.requests;
  expect(first?.headers['content-type']).toBe('application/x-ndjson');
  expect(second?.body.split('\n').map((line) => JSON.parse(line))).toEqual([{ rules: RULES }, ...ENTRIES]);
  const [id] = accepted;
  expect(answers.requests.slice(2).map(({ url }) => url.replace(/&limit=.*/, ''))).toEqual(
    ['/results?from=0', '', '/results?from=0', '/results?from=2', '/results?from=2', '/results?from=3'].map(
      (path) => `/access-control/check-roles/batch/${id}${path}`,
    ),
  );
});

test('the preview of a watch is sent as JSON, and has as many lines as the watch has members', async () => {
  const accepted = json(202, { requestId: 'x', entries: 2 });
  const rolecall = await start({ do: 'reset' }, accepted, lines(0, 1), lines());
  expect(await collect(rolecall.batch({ watch: 'members', rules: RULES }))).toEqual([0, 1]);
  const [first, second] = answers.requests;
  expect(second?.headers['content-type']).toBe('application/json');
  expect(JSON.parse(second?.body ?? '')).toEqual({ watch: 'members', rules: RULES });
  expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key']);
});

test('the preview of a watch that ends before its last member is an error', async () => {
  const rolecall = await start(json(202, { requestId: 'x', entries: 2 }), lines(0), lines());
  await expect(collect(rolecall.batch({ watch: 'members', rules: RULES }))).rejects.toMatchObject({
    code: 'unexpected-answer',
  });
});

test.each([
  ["the client's", 5_000, {}],
  ["the batch's", 30_000, { timeoutMs: 5_000 }],
])('a Retry-After of a batch beyond %s time limit is not waited for', async (_, timeoutMs, options) => {
  await start({ do: 'problem', status: 503, code: 'overloaded', headers: { 'retry-after': '20' } });
  await expect(
    collect(client(timeoutMs).batch({ entries: ENTRIES, rules: RULES }, options)),
  ).rejects.toMatchObject({ code: 'overloaded', retryAfterMs: 20_000 });
  expect(answers.requests).toHaveLength(1);
});

test('the waits between attempts to start a batch have the time limit together', async () => {
  await start({ do: 'problem', status: 503, code: 'overloaded', headers: { 'retry-after': '1' } });
  await expect(collect(client(1_500).batch({ entries: ENTRIES, rules: RULES }))).rejects.toMatchObject({
    code: 'overloaded',
  });
  expect(answers.requests).toHaveLength(2);
});

test('a batch of an earlier process is continued from any line', async () => {
  const rolecall = await start(lines(7, 8), lines());
  expect(await collect(rolecall.batchLines('req_1', { from: 7 }))).toEqual([7, 8]);
});

test('a missing line is an error, never an entry without roles', async () => {
  const rolecall = await start(lines(0, 2));
  await expect(collect(rolecall.batchLines('req_1'))).rejects.toMatchObject({ code: 'unexpected-answer' });
});

test('a batch that makes no progress ends with its id', async () => {
  const rolecall = await start(notYet);
  await expect(collect(rolecall.batchLines('req_1', { timeoutMs: 1 }))).rejects.toMatchObject({
    code: 'timeout',
    requestId: 'req_1',
  });
});

test('a batch that was accepted is read on after an outage longer than the time limit of a call', async () => {
  const outage: Step = { do: 'problem', status: 503, code: 'dependency-unavailable' };
  await start(...Array.from({ length: 4 }, () => outage), lines(0), lines());
  expect(await collect(client(1_000).batchLines('req_1'))).toEqual([0]);
});

test('an error while the lines are read has the id of the batch', async () => {
  const rolecall = await start({ do: 'problem', status: 410, code: 'request-expired' });
  await expect(collect(rolecall.batchLines('req_1'))).rejects.toMatchObject({
    code: 'request-expired',
    requestId: 'req_1',
  });
});

test('an empty answer of a proxy is not the end of a batch', async () => {
  const rolecall = await start({ do: 'answer', status: 200, body: '' });
  await expect(collect(rolecall.batchLines('req_1'))).rejects.toMatchObject({ code: 'unexpected-answer' });
});

test('a batch that ends before its last entry is an error', async () => {
  const rolecall = await start({ do: 'accept' }, lines(0, 1), lines());
  await expect(collect(rolecall.batch({ entries: ENTRIES, rules: RULES }))).rejects.toMatchObject({
    code: 'unexpected-answer',
  });
});
