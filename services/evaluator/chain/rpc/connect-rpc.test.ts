import { once } from 'node:events';
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { BODY_BYTES_MAX, connectRpc, type Rpc, type RpcOutcome } from './connect-rpc.ts';
import type { RpcFailure } from './rpc-failure.ts';

const signal = new AbortController().signal;
const REQUEST = { method: 'eth_chainId', params: '[]' };

/** Asks a server of the test's own; returns the request too. */
async function ask(
  answer: (response: ServerResponse, ids: number[], isArray: boolean) => void,
  work: (rpc: Rpc) => Promise<unknown> = (rpc) => rpc.call(REQUEST, signal),
  proxy?: string,
) {
  const asked: IncomingMessage[] = [];
  /** The number of calls of each request; 0: a single call. */
  const lengths: number[] = [];
  await using server = createServer(async (request, response) => {
    asked.push(request);
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const sent: unknown = JSON.parse(body);
    lengths.push(Array.isArray(sent) ? sent.length : 0);
    const calls = [sent].flat() as { id: number }[];
    answer(
      response,
      calls.map(({ id }) => id),
      Array.isArray(sent),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await using rpc = connectRpc({
    url: `http://us%40er:pa55@127.0.0.1:${port}/v1/k3y?token=t0ken`,
    headers: { 'x-own': 'own' },
    timeoutMs: 120_000,
    proxy,
  });
  const outcome = await work(rpc).then(
    (value) => ({ value, failure: undefined }),
    (failure: RpcFailure) => ({ value: undefined, failure }),
  );
  return { ...outcome, asked, lengths };
}

const busy = (status: number, retryAfter?: string) => (response: ServerResponse) => {
  if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
  response.writeHead(status).end('busy');
};

test.each([
  ['429 with seconds', busy(429, '7'), 'rate-limited', 7_000],
  ['429 without a time', busy(429), 'rate-limited', 500],
  ['429 with nonsense', busy(429, 'soon'), 'rate-limited', 500],
  ['429 with an hour', busy(429, '3600'), 'rate-limited', 60_000],
  ['429 with a date that is over', busy(429, 'Wed, 21 Oct 2015 07:28:00 GMT'), 'rate-limited', 0],
  ['429 with a date far ahead', busy(429, 'Fri, 21 Oct 2095 07:28:00 GMT'), 'rate-limited', 60_000],
  ['503 with seconds', busy(503, '7'), 'http-status', 7_000],
  ['503 without a time', busy(503), 'http-status', undefined],
  ['413', busy(413), 'too-large', undefined],
])('%s sets how long the endpoint gets no calls', async (_, answer, kind, retryAfterMs) => {
  const { failure } = await ask(answer);
  expect({ kind: failure?.kind, code: failure?.reading.code, retryAfterMs: failure?.retryAfterMs }).toEqual({
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
  ['an error that is not an object', (id) => ({ id, error: 'x', result: '0x1' }), 'malformed'],
  ['too much', (id) => ({ id, result: 'x'.repeat(BODY_BYTES_MAX) }), 'endless'],
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
  ['a number', 7, 'gas-exhausted', false],
  ['nothing', undefined, 'gas-exhausted', false],
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

test('any status of success is an answer', async () => {
  const { value } = await ask((response, [id]) =>
    response.writeHead(201).end(JSON.stringify({ id, result: '0x1' })),
  );
  expect(value).toBe('0x1');
});

test.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
])(
  'an answer in %s is decompressed, and refused if it is longer than an answer may be',
  async (encoding, compress) => {
    const send = (result: string) => (response: ServerResponse, ids: number[]) =>
      response.setHeader('content-encoding', encoding).end(compress(JSON.stringify({ id: ids[0], result })));
    expect((await ask(send('0x1'))).value).toBe('0x1');
    expect((await ask(send('x'.repeat(BODY_BYTES_MAX)))).failure?.kind).toBe('endless');
  },
);

test('a long error page is the failure that its status says, and no long answer', async () => {
  const { failure } = await ask(
    (response) => response.writeHead(502).end('x'.repeat(300_000)),
    (rpc) => rpc.call({ method: 'eth_call', params: '[]' }, signal),
  );
  expect(failure).toMatchObject({ kind: 'http-status', words: 'HTTP 502' });
});

test('a byte-order mark before an answer is skipped', async () => {
  const { value } = await ask((response, [id]) =>
    response.end(`\uFEFF${JSON.stringify({ id, result: '0x1' })}`),
  );
  expect(value).toBe('0x1');
});

test('the answer to a call of a contract may be a few times as long as its question, not as long as the contract likes', async () => {
  const call = (data: string) => ({ method: 'eth_call', params: `[{"data":"${data}"},"latest"]` });
  const answerOf = async (bytes: number, ...requests: { method: string; params: string }[]) => {
    const { value, failure } = await ask(
      (response, ids, isArray) => {
        const answers = ids.map((id) => ({ id, result: 'x'.repeat(bytes / ids.length) }));
        response.end(JSON.stringify(isArray ? answers : answers[0]));
      },
      (rpc) => rpc.callMany(requests, signal),
    );
    const [outcome] = (value as RpcOutcome[] | undefined) ?? [];
    return failure?.kind ?? (outcome?.ok === false ? outcome.failure.kind : 'answered');
  };
  expect(await answerOf(200_000, call('0x'))).toBe('answered');
  expect(await answerOf(300_000, call('0x'))).toBe('endless');
  expect(await answerOf(300_000, call('0x'), call('0x'))).toBe('endless');
  expect(await answerOf(300_000, call('0'.repeat(20_000)))).toBe('answered');
  expect(await answerOf(300_000, call('0x'), REQUEST)).toBe('answered');
});

test('the code 429 of an error is a rate limit, whatever its words', async () => {
  const error = { code: 429, message: 'Monthly capacity limit exceeded.' };
  const { failure } = await ask((response, [id]) => response.end(JSON.stringify({ id, error })));
  expect(failure).toMatchObject({ kind: 'rate-limited', retryAfterMs: 500 });
});

test('the words of an error are kept in short, without the URL and its keys', async () => {
  const message = `No more for k3yk3y at http://127.0.0.1:1/v1/k3y?token=t0ken (key ${'a1'.repeat(16)})\n${'so '.repeat(200)}`;
  const { failure } = await ask((response, [id]) =>
    response.end(JSON.stringify({ id, error: { code: -1, message } })),
  );
  expect(failure?.words).toMatch(/^No more for k3yk3y at … \(key …\) so so/);
  expect(failure?.words?.length).toBeLessThanOrEqual(160);
});

/** An endpoint that takes arrays of at most so many calls. */
const upTo =
  (countMax: number, refuse: (response: ServerResponse) => void) =>
  (response: ServerResponse, ids: number[], isArray: boolean) => {
    if (isArray && ids.length > countMax) return refuse(response);
    const answers = ids.map((id) => ({ id, result: '0x1' }));
    response.end(JSON.stringify(isArray ? answers : answers[0]));
  };
const REFUSALS: [string, (response: ServerResponse) => void][] = [
  ['an error', (response) => response.end('{"error":{"code":-1,"message":"one by one, please"}}')],
  ['a status', (response) => response.writeHead(400).end('no')],
  ['a single answer', (response) => response.end('{"id":1,"result":"0x1"}')],
];

test.each(REFUSALS)(
  'an endpoint that refuses arrays by %s gets single calls, and no array for a while',
  async (_, refuse) => {
    const requests = Array(4).fill(REQUEST);
    const { value, lengths } = await ask(upTo(0, refuse), async (rpc) => {
      await rpc.callMany(requests, signal);
      return rpc.callMany(requests, signal);
    });
    expect(value).toEqual(Array(4).fill({ ok: true, result: '0x1' }));
    // Arrays of 4, 2 and 2 calls are refused, each with its first call alone; then come single
    // calls.
    expect(lengths.slice(-4)).toEqual([0, 0, 0, 0]);
  },
);

test.each(REFUSALS)(
  'an endpoint that refuses long arrays by %s gets arrays of the length that it takes',
  async (_, refuse) => {
    const requests = Array(20).fill(REQUEST);
    const { value, lengths } = await ask(upTo(10, refuse), async (rpc) => {
      await rpc.callMany(requests, signal);
      return rpc.callMany(requests, signal);
    });
    expect(value).toHaveLength(20);
    expect(lengths.slice(-2)).toEqual([10, 10]);
  },
);

test('an array whose first call fails alone in the same way fails after two requests', async () => {
  const { failure, lengths } = await ask(
    (response) => response.writeHead(503).end(),
    (rpc) => rpc.callMany(Array(100).fill(REQUEST), signal),
  );
  expect([failure?.kind, lengths]).toEqual(['http-status', [100, 0]]);
});

test('a call that goes alone has every failure for itself', async () => {
  const { value } = await ask(
    (response) => response.writeHead(503).end(),
    (rpc) => rpc.callMany([REQUEST], signal),
  );
  expect(value).toMatchObject([{ ok: false, failure: { kind: 'http-status' } }]);
});

test('calls go through the proxy of the endpoint', async () => {
  const targets: string[] = [];
  await using proxy = createServer((request, response) => {
    targets.push(request.url ?? '');
    request.pipe(
      forward(request.url ?? '', { method: 'POST', headers: request.headers }, (answer) =>
        answer.pipe(response),
      ),
    );
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { value } = await ask(
    (response, [id]) => response.end(JSON.stringify({ id, result: '0x1' })),
    undefined,
    `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
  );
  expect(value).toBe('0x1');
  expect(targets).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/v1\/k3y/)]);
});
