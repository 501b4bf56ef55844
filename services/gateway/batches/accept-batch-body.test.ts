import type { IncomingMessage } from 'node:http';
import {
  ACCOUNT,
  accountOf,
  accountsOf,
  ENTERPRISE_APP,
  linesOf,
  NDJSON,
  openBatchRequest,
  RULES,
  sendSlowly,
} from '../../../test/support/fakes/batch-bodies.ts';
import { fakeGateways, problemOf } from '../../../test/support/fakes/fake-gateways.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { makeBatchBodies } from './batch-bodies.ts';
import { JSON_BYTES_MAX, NDJSON_BYTES_MAX } from './receive-values.ts';

const start = fakeGateways();

describe('the body of a batch', () => {
  it.each([
    [
      'that ends in the middle of a line',
      `${linesOf({ rules: RULES }, [ACCOUNT])}"0x5290`,
      400,
      'malformed-json',
      'Line 3 is not JSON',
    ],
    [
      'with a line that is not JSON',
      linesOf({ rules: RULES }, []).concat('x\n'),
      400,
      'malformed-json',
      'Line 2 is not JSON',
    ],
    [
      'with a line that is not JSON, behind blank lines',
      `\n\r\n${linesOf({ rules: RULES }, [])}\n \t\r\nx\n`,
      400,
      'malformed-json',
      'Line 6 is not JSON',
    ],
    [
      'with a line above 8 KiB, behind blank lines',
      `\n${linesOf({ rules: RULES }, [])}\n${'x'.repeat(9_000)}`,
      413,
      'body-too-large',
      'Line 4 has more than 8192 bytes',
    ],
    [
      'with more than 100 000 blank lines',
      linesOf({ rules: RULES }, [ACCOUNT]).concat('\n'.repeat(100_001)),
      400,
      'malformed-json',
      'blank lines',
    ],
    ['of blank lines alone', '\ufeff\r\n\r\n', 400, 'malformed-json', 'empty'],
    [
      'with a line above 8 KiB',
      linesOf({ rules: RULES }, [{ account: ACCOUNT, ref: 'x'.repeat(9_000) }]),
      413,
      'body-too-large',
      'Line 2',
    ],
    ['that is empty', '', 400, 'malformed-json', 'empty'],
  ])('of NDJSON %s is refused, the line named', async (_, text, status, code, detail) => {
    const gateway = await start();
    const response = await gateway.postBatch(text, NDJSON);
    const problem = await problemOf(response);
    expect([response.status, problem['code']]).toEqual([status, code]);
    expect(problem['detail']).toContain(detail);
    expect(gateway.parts).toEqual([]);
  });

  it.each([
    ['text/plain', {}],
    ['application/json; charset=latin1', {}],
    ['application/x-ndjson', { 'content-encoding': 'gzip' }],
  ])('answers 415 as %s', async (type, headers) => {
    const gateway = await start();
    const response = await gateway.postBatch('{}', { 'content-type': type, ...headers });
    expect([response.status, (await problemOf(response))['code']]).toEqual([415, 'media-type-unsupported']);
  });

  it.each([[], null, 7])('has one fault if it is not an object: %j', async (body) => {
    const gateway = await start();
    const problem = await problemOf(await gateway.postBatch(body));
    expect(problem).toMatchObject({ code: 'validation-failed', errors: [{ pointer: '' }] });
    expect(problem['errors']).toHaveLength(1);
  });

  it('is malformed if both the body and its type are absent', async () => {
    const gateway = await start();
    const response = await gateway.send('POST', '/access-control/check-roles/batch');
    expect([response.status, (await problemOf(response))['code']]).toEqual([400, 'malformed-json']);
  });

  it('is refused above 2 MiB of JSON, and the client gets its answer', async () => {
    const gateway = await start({ app: ENTERPRISE_APP });
    const response = await gateway.postBatch({
      entries: [ACCOUNT],
      rules: RULES,
      ref: 'x'.repeat(3_000_000),
    });
    expect([response.status, (await problemOf(response))['code']]).toEqual([413, 'body-too-large']);
  });

  it('is refused above 16 MiB of NDJSON for its length, not for a lack of room', async () => {
    const gateway = await start({ app: ENTERPRISE_APP });
    const line = `"${ACCOUNT}"`.padEnd(8_000);
    const lines = Array.from({ length: 2_200 }, () => line);
    const response = await gateway.postBatch([JSON.stringify({ rules: RULES }), ...lines].join('\n'), NDJSON);
    expect([response.status, (await problemOf(response))['code']]).toEqual([413, 'body-too-large']);
  });

  it('leaves room for the members of a preview beside the largest body', async () => {
    const bodies = makeBatchBodies(new AbortController().signal);
    using body = await bodies.open({} as IncomingMessage, { accountId: 'acc_1', clientId: 'app_1' });
    body.hold(JSON_BYTES_MAX);
    expect(() => body.hold(NDJSON_BYTES_MAX)).not.toThrow();
  });

  it('answers 408 if it does not arrive in time, costs no quota, and its connection ends', async () => {
    const gateway = await start({ bodyBounds: { bytesMax: 1_000_000, timeoutMs: 50 } });
    const { status, body, headers } = await sendSlowly(gateway, ['{', '"'], { isEnded: false });
    expect([status, body['code'], headers['connection']]).toEqual([408, 'body-timeout', 'close']);
    expect(gateway.admitted.every(({ check }) => check?.isTrial)).toBe(true);
    expect((await gateway.postBatch({ entries: [ACCOUNT], rules: RULES })).status).toBe(202);
  });

  it('is read one at a time for each client app', async () => {
    const gateway = await start();
    const outgoing = openBatchRequest(gateway);
    const aborted = new Promise((resolve) => outgoing.on('error', resolve));
    outgoing.write('{');
    const body = { entries: [ACCOUNT], rules: RULES };
    await waitUntil(
      'a second body to be refused',
      async () => (await gateway.postBatch(body)).status === 503,
    );
    outgoing.destroy();
    await aborted;
    await waitUntil(
      'the slot of the client that went away',
      async () => (await gateway.postBatch(body)).status === 202,
    );
  });

  it('is read one at a time while an earlier batch of the client app is published', async () => {
    const broker = Promise.withResolvers<void>();
    const gateway = await start({ publishPart: () => broker.promise });
    const body = { entries: [ACCOUNT], rules: RULES };
    const first = gateway.postBatch(body);
    await waitUntil('the first batch to be admitted', () =>
      gateway.admitted.some(({ check }) => check?.isTrial === undefined),
    );
    const second = openBatchRequest(gateway).on('error', () => undefined);
    second.write('{');
    await waitUntil('the second body to be opened', () => gateway.admitted.length === 3);
    broker.resolve();
    expect((await first).status).toBe(202);
    const third = await gateway.postBatch(body);
    second.destroy();
    expect([third.status, (await problemOf(third))['detail']]).toEqual([
      503,
      'Another batch or member change of this client app is being received; send one at a time.',
    ]);
  });

  it('is bounded in bytes over all client apps, and its bytes are free again afterwards', async () => {
    const gateway = await start({
      app: ENTERPRISE_APP,
      bodyBounds: { bytesMax: 10_000, ofOneMax: 4_000, timeoutMs: 10_000 },
    });
    const response = await gateway.postBatch({ entries: accountsOf(200), rules: RULES });
    expect([response.status, (await problemOf(response))['code']]).toEqual([503, 'overloaded']);
    for (let i = 0; i < 3; i += 1)
      expect((await gateway.postBatch({ entries: accountsOf(50), rules: RULES })).status).toBe(202);
  });

  it('holds no more bytes than it leaves to the batches of other client apps', async () => {
    const gateway = await start({
      app: ENTERPRISE_APP,
      bodyBounds: { bytesMax: 10_000, ofOneMax: 4_000, timeoutMs: 10_000 },
    });
    const [head, rest] = [linesOf({ rules: RULES }, accountsOf(80)), linesOf(accountOf(80), accountsOf(80))];
    const { status, body } = await sendSlowly(gateway, [head, rest], { isEnded: false });
    expect([status, body['code']]).toEqual([503, 'overloaded']);
  });

  it('is read no further when the gateway stops', async () => {
    const stopping = new AbortController();
    const gateway = await start({ stopping: stopping.signal });
    const sent = sendSlowly(gateway, ['{'], { isEnded: false });
    await waitUntil('the rate to be charged', () => gateway.admitted.length > 0);
    stopping.abort();
    expect((await sent).status).toBe(503);
  });
});
