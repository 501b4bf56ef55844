import { gzipSync } from 'node:zlib';
import { hashApiKey } from '#shared/contracts/apps/api-key.ts';
import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import type { BatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { Problem } from '#shared/http/problem.ts';
import { partially } from '../../../../test/support/builders/partially.ts';
import type { Dependencies } from '../../dependencies.ts';
import { makeBatchHandlers } from './handle-batches.ts';

const KEY = 'rck_live_x';
const ACCEPTED_AT = '2026-11-22T10:00:00.000Z';
const aStatus = (over: Partial<BatchStatus> = {}): BatchStatus => ({
  requestId: 'b1',
  status: 'completed',
  entries: 4,
  done: 4,
  roles: [{ id: 'r', granted: 1, denied: 1, undetermined: 2 }],
  acceptedAt: ACCEPTED_AT,
  ...over,
});
const lineOf = (index: number) => ({
  index,
  account: `0x${index}`,
  status: 'completed',
  roles: index < 2 ? [{ id: 'r', granted: index === 0 }] : [],
  errors: index < 2 ? [] : [{ roleId: 'r', code: 'rpc-timeout', message: 'No answer.', retryable: true }],
  blockNumbers: {},
});
const aPart = (firstIndex: number) => ({
  firstIndex,
  lineCount: 2,
  gzip: gzipSync([firstIndex, firstIndex + 1].map((index) => `${JSON.stringify(lineOf(index))}\n`).join('')),
});

function makeHandlers(over: Parameters<typeof partially<Dependencies>>[0] = {}) {
  return makeBatchHandlers(
    partially<Dependencies>({
      batches: {
        readStatus: async () => aStatus(),
        readProgress: async () => ({ clientId: 'app_1', partCount: 2, storedPartCount: 2 }),
        readPart: async (_, index) => aPart(index < 2 ? 0 : 2),
      },
      batchList: { list: async () => [] },
      deliveries: { read: async () => undefined },
      readMonth: async () => ({ name: '2026-11', used: 7, quota: 10_000 }),
      config: { gateway: { url: 'http://gateway' } },
      fetch: () => Promise.reject(new Error('not asked for')),
      now: () => Date.parse(ACCEPTED_AT),
      ...over,
    }),
  );
}

const call = <Q, U = undefined>(query: Q, upload?: U) => ({
  body: undefined,
  account: { tier: 'free' } as Account,
  app: { clientId: 'app_1', keys: [{ hash: hashApiKey(KEY) }] } as unknown as ClientApp,
  owner: { tier: 'free' } as Account,
  idempotencyKey: 'once',
  address: '',
  visitor: { accountId: '', clientId: '' },
  browser: '',
  token: undefined,
  setSession: async () => undefined,
  once: async () => Promise.reject(new Error('not asked for')),
  param: (name: string) => (name === 'requestId' ? 'b1' : 'app_1'),
  query,
  upload: upload as U,
});
async function textOf(pieces: AsyncIterable<Buffer>): Promise<string> {
  const read: Buffer[] = [];
  for await (const piece of pieces) read.push(piece);
  return Buffer.concat(read).toString();
}
async function* chunksOf(...texts: string[]): AsyncGenerator<Buffer, void> {
  for (const text of texts) yield Buffer.from(text);
}

test('a batch of another app is not found', async () => {
  const readProgress = async () => ({ clientId: 'app_2', partCount: 1, storedPartCount: 1 });
  const { readBatch, downloadBatch } = makeHandlers({
    batches: { readStatus: async () => aStatus(), readProgress, readPart: () => Promise.reject(new Error()) },
  });
  await expect(readBatch(call(undefined))).rejects.toMatchObject({ code: 'not-found' });
  await expect(downloadBatch(call({ format: 'csv' as const }))).rejects.toMatchObject({ code: 'not-found' });
});

test('the results of a batch that runs are no file yet', async () => {
  const { downloadBatch, readBatch } = makeHandlers({
    batches: {
      readStatus: async () => aStatus({ status: 'pending', done: 2 }),
      readProgress: async () => ({ clientId: 'app_1', partCount: 2, storedPartCount: 1 }),
      readPart: () => Promise.reject(new Error('not asked for')),
    },
  });
  expect(await readBatch(call(undefined))).toMatchObject({ status: 'pending', done: 2 });
  await expect(downloadBatch(call({ format: 'csv' as const }))).rejects.toMatchObject({ code: 'conflict' });
});

test('a file of NDJSON has the stored lines, and one of CSV a row for each of them', async () => {
  const { downloadBatch } = makeHandlers();
  const ndjson = await downloadBatch(call({ format: 'ndjson' as const }));
  expect([ndjson.mediaType, ndjson.fileName]).toEqual(['application/x-ndjson', 'batch-b1.ndjson']);
  expect(await textOf(ndjson.pieces)).toBe(
    [0, 1, 2, 3].map((i) => `${JSON.stringify(lineOf(i))}\n`).join(''),
  );
  const csv = await downloadBatch(call({ format: 'csv' as const }));
  const rows = (await textOf(csv.pieces)).split('\r\n');
  expect(rows).toHaveLength(6);
  expect(rows[1]).toContain('"granted"');
  expect(rows[3]).toContain('"undetermined","r: rpc-timeout"');
});

test('the entries that could not be read are listed with their reasons', async () => {
  const { entries, next } = await makeHandlers().listEntries(call({ of: 'unread' as const, after: 0 }));
  expect([entries.map(({ index }) => index), next]).toEqual([[2, 3], undefined]);
  expect(entries[0]?.errors).toEqual(lineOf(2).errors);
});

test('the entries of a preview are listed with the roles that change, and why', async () => {
  const details = [{ ruleIndex: 0, outcome: 'denied', observed: '1', required: { min: '2' } }];
  const lines = [0, 1].map((index) => ({ ...lineOf(index), before: { r: true }, details }));
  const part = {
    ...{ firstIndex: 0, lineCount: 2 },
    gzip: gzipSync(lines.map((line) => `${JSON.stringify(line)}\n`).join('')),
  };
  const { listEntries } = makeHandlers({
    batches: {
      readStatus: async () => aStatus({ entries: 2, done: 2 }),
      readProgress: async () => ({ clientId: 'app_1', partCount: 1, storedPartCount: 1 }),
      readPart: async () => part,
    },
  });
  const { entries } = await listEntries(call({ of: 'lost' as const, after: 0 }));
  expect(entries).toMatchObject([{ index: 1, changes: [{ id: 'r', granted: false }], details }]);
  expect((await listEntries(call({ of: 'gained' as const, after: 0 }))).entries).toEqual([]);
  expect((await listEntries(call({ of: 'all' as const, after: 0 }))).entries).toHaveLength(2);
});

test('the options have the limits of the tier and the rest of the monthly quota', async () => {
  expect(await makeHandlers().readBatchOptions(call(undefined))).toEqual({
    limits: { entries: 1_000, unfinished: 2 },
    month: { name: '2026-11', used: 7, quota: 10_000 },
  });
});

test('the gateway receives the body as it arrives, with the key and the idempotency key', async () => {
  const sent: { url: string; init: RequestInit; text: string }[] = [];
  const { startBatch } = makeHandlers({
    fetch: async (url, init = {}) => {
      sent.push({
        url: String(url),
        init,
        text: await textOf(init.body as unknown as AsyncIterable<Buffer>),
      });
      return Response.json({ requestId: 'b1', entries: 1 }, { status: 202 });
    },
  });
  const upload = { apiKey: KEY, chunks: chunksOf('{"ruleSet":"a"}\n', '"0x1"\n') };
  expect(await startBatch(call(undefined, upload))).toEqual({
    status: 202,
    body: { requestId: 'b1', entries: 1 },
  });
  expect(sent[0]).toMatchObject({
    url: 'http://gateway/access-control/check-roles/batch',
    text: '{"ruleSet":"a"}\n"0x1"\n',
    init: {
      headers: { 'content-type': 'application/x-ndjson', 'x-api-key': KEY, 'idempotency-key': 'once' },
    },
  });
});

test('a key of another app is not sent anywhere', async () => {
  const upload = { apiKey: 'rck_live_another', chunks: chunksOf() };
  await expect(makeHandlers().startBatch(call(undefined, upload))).rejects.toMatchObject({
    members: { errors: [{ pointer: '/apiKey' }] },
  });
});

test('a body that arrives too slowly is refused as slow, and not because the gateway is away', async () => {
  const { startBatch } = makeHandlers({
    fetch: () =>
      Promise.reject(new TypeError('fetch failed', { cause: new Problem('request-timeout', 'Too slow.') })),
  });
  await expect(startBatch(call(undefined, { apiKey: KEY, chunks: chunksOf() }))).rejects.toMatchObject({
    code: 'request-timeout',
  });
});
