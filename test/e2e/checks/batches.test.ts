/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// Batches from the request to the result, over the whole system: both body formats, the three ways
// to get the result, pages and gzip.
import { request as httpRequest } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { BATCH_PATH } from '#shared/contracts/paths.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import { makeBatchClient } from '../../support/systems/batch-client.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';

const COMPLETED_MS_MAX = 60_000;

const system = sharedSystem();
const url = system.ready.gateways[0] ?? '';
const { apiKey } = system.ready.app;
const { holder, stranger } = system.chain;
const batches = makeBatchClient({ url, apiKey });
const rules = [demoRules(system.chain).erc20()];
const roleId = rules[0]?.roleId ?? '';

type Body = { requestId: string; entries: number };
const post = (body: string, headers: Readonly<Record<string, string>> = {}) =>
  system.client.send<Body>('POST', BATCH_PATH, body, { 'content-type': 'application/x-ndjson', ...headers });
const ndjson = (...lines: readonly unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const json = (body: object) => post(JSON.stringify(body), { 'content-type': 'application/json' });
const isHeld = (line: { roles: readonly { id: string; granted: boolean }[] } | undefined) =>
  line?.roles.find(({ id }) => id === roleId)?.granted;

test('a JSON batch, an NDJSON batch and one with a byte-order mark and blank lines give the same lines, in the order sent', async () => {
  const entries = [holder, { account: stranger, ref: 'discord:42' }, holder];
  const asJson = await json({ rules, entries });
  const asNdjson = await post(ndjson({ rules }, ...entries));
  // As a tool of Windows writes it.
  const asFile = await post(`\ufeff${ndjson({ rules }, ...entries).replaceAll('\n', '\r\n\r\n')}\r\n`);
  expect([asJson.status, asJson.body.entries, asNdjson.status, asFile.status]).toEqual([202, 3, 202, 202]);
  for (const { body } of [asJson, asNdjson, asFile]) {
    const status = await batches.wait(body.requestId, COMPLETED_MS_MAX);
    expect(status).toMatchObject({
      entries: 3,
      done: 3,
      roles: [{ id: roleId, granted: 2, denied: 1, undetermined: 0 }],
    });
    const lines = await batches.lines(body.requestId);
    expect(lines.map(isHeld)).toEqual([true, false, true]);
    expect(lines[1]).toMatchObject({ index: 1, account: stranger, ref: 'discord:42', status: 'completed' });
  }
});

test('poll, long poll and webhook return the same status of a finished batch', async () => {
  await using receiver = await receiveWebhooks();
  const { body } = await json({ rules, entries: [holder, stranger], callbackUrl: receiver.url });
  const waited = await batches.wait(body.requestId, COMPLETED_MS_MAX);
  const told = await receiver.waitFor(({ requestId }) => requestId === body.requestId);
  expect(JSON.parse(told.body)).toEqual({ type: 'batch.completed', ...waited });
  expect(await batches.status(body.requestId)).toEqual(waited);
});

test('results come in pages with a link to the next one, compressed for a client that accepts gzip', async () => {
  const requestId = await batches.post({ rules }, [holder, stranger, holder]);
  await batches.wait(requestId, COMPLETED_MS_MAX);
  const read = async (query: string) => {
    const { text, headers } = await system.client.send('GET', `${BATCH_PATH}/${requestId}/results?${query}`);
    const lines = text.split('\n').filter(Boolean);
    return {
      indexes: lines.map((line) => (JSON.parse(line) as { index: number }).index),
      link: headers.get('link'),
    };
  };
  const first = await read('from=0&limit=2');
  expect([first.indexes, first.link]).toEqual([
    [0, 1],
    expect.stringMatching(/from=2&limit=2>; rel="next"$/),
  ]);
  expect(await read('from=2&limit=2')).toEqual({ indexes: [2], link: null });
  expect((await read('from=3')).indexes).toEqual([]);
  expect(
    gunzipSync(await readRaw(`/${requestId}/results`))
      .toString()
      .split('\n'),
  ).toHaveLength(4);
});

/** The gzip bytes of an answer, as they arrive. */
function readRaw(path: string): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const headers = { 'x-api-key': apiKey, 'accept-encoding': 'gzip' };
  httpRequest(url + BATCH_PATH + path, { headers }, (response) => {
    const chunks: Buffer[] = [];
    response
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => resolve(Buffer.concat(chunks)));
  })
    .on('error', reject)
    .end();
  return promise;
}
