import { request as httpRequest } from 'node:http';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { BatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { API_KEY, type FakeGateway, NOW_MS } from '../../../test/support/fakes/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../../test/support/fakes/fake-gateways.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';

const start = fakeGateways();
const DAY_MS = 86_400_000;
const aBatchId = ({ ids }: FakeGateway, ageMs = 0, clientId = 'app_1'): string =>
  ids.makeId(ids.makeSeed(), NOW_MS - ageMs, 'batch', clientId);
const path = (requestId: string, rest = ''): string =>
  `/access-control/check-roles/batch/${requestId}${rest}`;
const aStatus = (requestId: string, changes: Partial<BatchStatus> = {}): BatchStatus => ({
  requestId,
  status: 'pending',
  entries: 10,
  done: 0,
  roles: [],
  acceptedAt: new Date(NOW_MS).toISOString(),
  ...changes,
});
const lineOf = (index: number, padding = ''): string => `${JSON.stringify({ index, padding })}\n`;
const aPart = (firstIndex: number, lineCount: number, padding = '') => ({
  firstIndex,
  lineCount,
  gzip: gzipSync(Array.from({ length: lineCount }, (_, i) => lineOf(firstIndex + i, padding)).join('')),
});
const indexesIn = (text: string): number[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { index: number }).index);

describe('the status of a batch', () => {
  it('is 200 while it is pending and when it is completed', async () => {
    const gateway = await start();
    const id = aBatchId(gateway);
    gateway.storeBatch(aStatus(id, { done: 5 }), [aPart(0, 5)]);
    const pending = await gateway.get(path(id));
    expect([pending.status, pending.headers.get('retry-after')]).toEqual([200, '1']);
    expect(await pending.json()).toEqual(aStatus(id, { done: 5 }));
    const completed = aStatus(id, {
      status: 'completed',
      done: 10,
      completedAt: new Date(NOW_MS).toISOString(),
    });
    gateway.storeBatch(completed, []);
    const response = await gateway.get(path(id));
    expect([response.status, await response.json()]).toEqual([200, completed]);
  });

  it('is waited for until the batch is completed', async () => {
    const gateway = await start();
    const id = aBatchId(gateway);
    gateway.storeBatch(aStatus(id), []);
    const waiting = gateway.get(path(id), { prefer: 'wait=20' });
    const completed = aStatus(id, { status: 'completed', done: 10 });
    await waitUntil('the long poll', () => gateway.batchWaiters.count() > 0);
    gateway.storeBatch(completed, []);
    const response = await waiting;
    expect(response.headers.get('preference-applied')).toBe('wait=20');
    expect(await response.json()).toEqual(completed);
  });

  it('is 404 for ids of checks, ids of other apps and unknown ids, and checks are not found by ids of batches', async () => {
    const gateway = await start();
    const check = gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS, 'bulk', 'app_1');
    for (const address of [
      path(check),
      path(check, '/results'),
      path(aBatchId(gateway, 0, 'app_2')),
      path('x'),
      path('%ff'),
      `/access-control/check-roles/responses/${aBatchId(gateway)}`,
    ]) {
      const response = await gateway.get(address);
      expect([response.status, (await problemOf(response))['code']]).toEqual([404, 'request-not-found']);
    }
  });

  it.each([
    [3 * DAY_MS, 410],
    [6 * DAY_MS, 404],
  ])('of an age of %i ms is %i', async (ageMs, status) => {
    const gateway = await start();
    const id = aBatchId(gateway, ageMs);
    expect((await gateway.get(path(id))).status).toBe(status);
    expect((await gateway.get(path(id, '/results'))).status).toBe(status);
  });

  it('is answered to GET alone', async () => {
    const gateway = await start();
    const response = await fetch(gateway.url + path('x'), { method: 'POST' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET']);
  });
});

describe('the results of a batch', () => {
  async function withBatch(
    changes: Partial<BatchStatus> = {},
    parts = [aPart(0, 4), aPart(4, 4), aPart(8, 2)],
  ) {
    const gateway = await start();
    const id = aBatchId(gateway);
    gateway.storeBatch(aStatus(id, { status: 'completed', done: 10, ...changes }), parts);
    return {
      gateway,
      id,
      read: (query: string, headers = {}) => gateway.get(path(id, `/results${query}`), headers),
    };
  }

  it('are the finished lines in order, in pages that link to the next', async () => {
    const { id, read } = await withBatch();
    const all = await read('');
    expect([all.status, all.headers.get('content-type'), all.headers.get('link')]).toEqual([
      200,
      'application/x-ndjson',
      null,
    ]);
    expect(indexesIn(await all.text())).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const page = await read('?from=3&limit=3');
    expect(page.headers.get('link')).toBe(`<${path(id)}/results?from=6&limit=3>; rel="next"`);
    expect(indexesIn(await page.text())).toEqual([3, 4, 5]);
  });

  it('end before the first gap while the batch is pending, and are 202 if nothing follows', async () => {
    const { id, read } = await withBatch({ status: 'pending', done: 6 }, [aPart(0, 4), aPart(8, 2)]);
    const page = await read('');
    expect(indexesIn(await page.text())).toEqual([0, 1, 2, 3]);
    expect(page.headers.get('link')).toBe(`<${path(id)}/results?from=4>; rel="next"`);
    const later = await read('?from=4');
    expect([later.status, later.headers.get('retry-after')]).toEqual([202, '1']);
    expect(await later.json()).toMatchObject({ requestId: id, status: 'pending' });
  });

  it.each([10, 1_000_000_000, Number.MAX_SAFE_INTEGER])(
    'are empty from %i, past the last entry',
    async (from) => {
      const { read } = await withBatch();
      const response = await read(`?from=${from}`);
      expect([response.status, await response.text(), response.headers.get('link')]).toEqual([200, '', null]);
    },
  );

  it.each([
    ['?limit=0', 'limit'],
    ['?limit=10001', 'limit'],
    ['?from=-1', 'from'],
    ['?from=1.5', 'from'],
    ['?from=9007199254740992', 'from'],
    ['?limit=', 'limit'],
  ])('refuse the query %s, the parameter named', async (query, name) => {
    const { read } = await withBatch();
    const response = await read(query);
    const problem = await problemOf(response);
    expect([response.status, problem['code']]).toEqual([422, 'validation-failed']);
    expect(problem['errors']).toMatchObject([{ pointer: '', detail: expect.stringContaining(name) }]);
  });

  it('are compressed for a client that accepts gzip, and only then', async () => {
    const { gateway, id, read } = await withBatch();
    const plain = await read('', { 'accept-encoding': 'identity' });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(indexesIn(await plain.text())).toHaveLength(10);
    const body = await new Promise<Buffer>((resolve) => {
      httpRequest(
        gateway.url + path(id, '/results'),
        { headers: { 'x-api-key': API_KEY, 'accept-encoding': 'gzip' } },
        (response) => {
          expect(response.headers['content-encoding']).toBe('gzip');
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () => resolve(Buffer.concat(chunks)));
        },
      ).end();
    });
    expect(indexesIn(gunzipSync(body).toString())).toHaveLength(10);
  });

  it('are cut if they cannot be sent completely, so that no client takes them for complete', async () => {
    const { read } = await withBatch({}, [aPart(0, 4)]);
    await expect(read('', { 'accept-encoding': 'identity' })).rejects.toThrow('terminated');
  });

  it('are cut for a client that reads nothing, and its slot is free again', async () => {
    const gateway = await start({ streamBounds: { streamsMax: 2, stallMsMax: 500, streamMsMax: 60_000 } });
    const id = aBatchId(gateway);
    let readCount = 0;
    const part = aPart(0, 500, 'x'.repeat(4_000));
    const parts = Array.from({ length: 20 }, (_, index) => ({
      lineCount: 500,
      firstIndex: index * 500,
      get gzip() {
        readCount += 1;
        return part.gzip;
      },
    }));
    gateway.storeBatch(aStatus(id, { status: 'completed', entries: 10_000, done: 10_000 }), parts);
    const small = aBatchId(gateway);
    gateway.storeBatch(aStatus(small, { status: 'completed', entries: 4, done: 4 }), [aPart(0, 4)]);
    const readSmall = async () => {
      const response = await gateway.get(path(small, '/results'));
      await response.arrayBuffer();
      return response.status;
    };
    /** A client that takes no more than the head of its answer; nothing if it was cut before
     * that. */
    const stall = () => {
      readCount = 0;
      const request = httpRequest(gateway.url + path(id, '/results'), { headers: { 'x-api-key': API_KEY } });
      return new Promise<typeof request | undefined>((resolve) => {
        request.on('response', (response) => {
          response.on('error', () => undefined);
          response.socket.pause();
          resolve(request);
        });
        request.on('error', () => resolve(undefined)).end();
      });
    };
    // A busy machine may cut a client before the other one has asked, and the other one too.
    const stalled = await waitUntil('a client that holds its slot', async () => {
      const request = await stall();
      if ((await readSmall().catch(() => undefined)) === 503) return request;
      request?.destroy();
      return undefined;
    });
    await waitUntil('its slot', async () => (await readSmall().catch(() => undefined)) === 200);
    // Of 40 MB no more was read than the sockets and a few parts hold.
    expect(readCount).toBeLessThan(10);
    stalled.destroy();
  });
});
