import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connectRpc, type Rpc } from './connect-rpc.ts';
import type { RpcFailure } from './rpc-failure.ts';

const signal = new AbortController().signal;
const REQUEST = { method: 'eth_chainId', params: '[]' };

/** Asks a server of the test's own; returns the request too. */
async function ask(
  answer: (response: ServerResponse, ids: number[]) => void,
  work: (rpc: Rpc) => Promise<unknown> = (rpc) => rpc.call(REQUEST, signal),
) {
  const asked: IncomingMessage[] = [];
  await using server = createServer(async (request, response) => {
    asked.push(request);
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const calls = [JSON.parse(body)].flat() as { id: number }[];
    answer(
      response,
      calls.map(({ id }) => id),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await using rpc = connectRpc({
    url: `http://us%40er:pa55@127.0.0.1:${port}/v1/k3y?token=t0ken`,
    headers: { 'x-own': 'own' },
    timeoutMs: 120_000,
    bodyBytesMax: 10_000,
  });
  const outcome = await work(rpc).then(
    (value) => ({ value, failure: undefined }),
    (failure: RpcFailure) => ({ value: undefined, failure }),
  );
  return { ...outcome, asked };
}

const busy = (status: number, retryAfter?: string) => (response: ServerResponse) => {
  if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
  response.writeHead(status).end('busy');
};

test.each([
  ['429 with seconds', busy(429, '7'), 'rate-limited', 7_000],
  ['429 without a time', busy(429), 'rate-limited', 1_000],
  ['429 with nonsense', busy(429, 'soon'), 'rate-limited', 1_000],
  ['429 with an hour', busy(429, '3600'), 'rate-limited', 60_000],
  ['429 with a date that is over', busy(429, 'Wed, 21 Oct 2015 07:28:00 GMT'), 'rate-limited', 0],
  ['429 with a date far ahead', busy(429, 'Fri, 21 Oct 2095 07:28:00 GMT'), 'rate-limited', 60_000],
  ['503 with seconds', busy(503, '7'), 'http-status', 7_000],
  ['503 without a time', busy(503), 'http-status', undefined],
  ['413', busy(413), 'too-large', undefined],
])('%s sets how long the endpoint gets no calls', async (_, answer, kind, retryAfterMs) => {
  const { failure } = await ask(answer);
  expect({ kind: failure?.kind, code: failure?.code, retryAfterMs: failure?.retryAfterMs }).toEqual({
    kind,
    code: 'rpc-unavailable',
    retryAfterMs,
  });
});

test.each<[string, (id: number) => unknown, string]>([
  ['another id', (id) => ({ id: id + 1, result: '0x1' }), 'malformed'],
  ['an id of another type', (id) => ({ id: String(id), result: '0x1' }), 'malformed'],
  ['no id', () => ({ result: '0x1' }), 'malformed'],
  ['no result', (id) => ({ id }), 'malformed'],
  ['a list', (id) => [{ id, result: '0x1' }], 'malformed'],
  ['nothing', () => null, 'malformed'],
  ['an unknown error', (id) => ({ id, error: { code: 1, message: 'x' } }), 'rpc-error'],
  ['an error that is no object', (id) => ({ id, error: 'x', result: '0x1' }), 'malformed'],
  ['too much', (id) => ({ id, result: 'x'.repeat(20_000) }), 'endless'],
])('an answer with %s decides nothing', async (_, answer, kind) => {
  const { value, failure } = await ask((response, [id = 0]) => response.end(JSON.stringify(answer(id))));
  expect([value, failure?.kind]).toEqual([undefined, kind]);
});

test.each<[string, unknown, string, boolean]>([
  ['text', 'Reverted 0x08c379a0', 'reverted', true],
  ['text of newer clients', 'err: 0xdf2d9b42 (supplied gas 36000000)', 'reverted', true],
  ['an object', { message: 'x', data: '0x08c379a0' }, 'reverted', true],
  ['a revert without data', 'err: revert (supplied gas 36000000)', 'reverted', false],
  ['used-up gas', 'Out of gas', 'gas-exhausted', false],
  ['a number', 7, 'halted', false],
  ['nothing', undefined, 'halted', false],
])('the cause of a failed execution is read from %s', async (_, data, kind, hasRevertData) => {
  const error = { code: -32_015, message: 'VM execution error.', data };
  const { failure } = await ask((response, [id = 0]) => response.end(JSON.stringify({ id, error })));
  expect(failure).toMatchObject({ kind, hasRevertData });
});

test('only the beginning of a long error is looked at', async () => {
  const error = { code: -32_000, message: `${'x'.repeat(2_000)} reverted` };
  const { failure } = await ask((response, [id = 0]) => response.end(JSON.stringify({ id, error })));
  expect(failure?.kind).toBe('rpc-error');
});

test('the answers of a batch are matched by their ids, in whatever order they come', async () => {
  const { value } = await ask(
    (response, ids) =>
      response.end(JSON.stringify(ids.toReversed().map((id) => ({ id, result: id - (ids[0] ?? 0) })))),
    (rpc) => rpc.callMany([REQUEST, REQUEST, REQUEST], signal),
  );
  expect(value).toEqual([0, 1, 2].map((result) => ({ ok: true, result })));
});

test('credentials of the URL go out as a header, and nothing of them comes back in a failure', async () => {
  const { asked, failure } = await ask(busy(500));
  expect(asked[0]?.headers).toMatchObject({
    authorization: `Basic ${Buffer.from('us@er:pa55').toString('base64')}`,
    'x-own': 'own',
  });
  expect(asked[0]?.url).toBe('/v1/k3y?token=t0ken');
  const said = JSON.stringify({ ...failure, message: failure?.message, stack: failure?.stack });
  expect(said).not.toMatch(/pa55|k3y|t0ken|127\.0\.0\.1/);
});
