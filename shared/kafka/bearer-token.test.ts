import { makeTokenClient } from './bearer-token.ts';

const CREDENTIALS = {
  url: 'https://idp.example/token',
  clientId: 'id:1',
  clientSecret: 'hunter2 ä',
  scope: 'kafka',
};

type Answer = { readonly status?: number; readonly body?: unknown; readonly fails?: Error };

/** A client at a token endpoint with these answers, one for each request; the last one repeats. */
function aClient(...answers: readonly Answer[]) {
  const requests: { readonly authorization: string; readonly body: string }[] = [];
  const clock = { nowMs: 0 };
  const readToken = makeTokenClient(() => CREDENTIALS, {
    monotonicMs: () => clock.nowMs,
    fetch: async (_url, { headers, body }) => {
      const { authorization = '' } = headers as Record<string, string>;
      requests.push({ authorization, body: String(body) });
      const { status = 200, body: json, fails } = answers[requests.length - 1] ?? answers.at(-1) ?? {};
      if (fails) throw fails;
      return { ok: status < 300, status, json: async () => json };
    },
  });
  return { readToken, requests, clock };
}

const aToken = (access_token: string, expires_in = 3_600) => ({ body: { access_token, expires_in } });
const AWAY = { fails: Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } }) };

test('requests a token with the credentials of the client, once for all connections', async () => {
  const { readToken, requests } = aClient(aToken('first'));
  expect(await Promise.all([readToken(), readToken()])).toEqual(['first', 'first']);
  expect(await readToken()).toBe('first');
  const login = Buffer.from('id%3A1:hunter2%20%C3%A4').toString('base64');
  expect(requests).toEqual([
    { authorization: `Basic ${login}`, body: 'grant_type=client_credentials&scope=kafka' },
  ]);
});

test.each([
  [3_600, 2_879],
  [60, 44],
])('replaces a token of %i s when a fifth of its time, or 15 s, are left', async (seconds, keptS) => {
  const { readToken, clock } = aClient(aToken('first', seconds), aToken('second'));
  await readToken();
  clock.nowMs = keptS * 1_000;
  expect(await readToken()).toBe('first');
  clock.nowMs += 1_000;
  expect(await readToken()).toBe('second');
});

test('uses the last token until it expires while the endpoint gives none, then says why there is none', async () => {
  const { readToken, clock } = aClient(aToken('first', 100), AWAY);
  await readToken();
  clock.nowMs = 99_000;
  expect(await readToken()).toBe('first');
  clock.nowMs = 101_000;
  await expect(readToken()).rejects.toMatchObject({
    code: 'broker-unavailable',
    message: 'KAFKA_SASL_TOKEN_URL gave no token: ECONNREFUSED',
  });
});

test('asks an endpoint that failed at most once a second', async () => {
  const { readToken, requests, clock } = aClient(AWAY, aToken('second'));
  for (clock.nowMs = 0; clock.nowMs < 1_000; clock.nowMs += 250) await expect(readToken()).rejects.toThrow();
  expect(requests).toHaveLength(1);
  expect(await readToken()).toBe('second');
});

test.each([
  [
    { status: 401, body: { error: 'invalid_client', error_description: 'hunter2' } },
    'HTTP 401, invalid_client',
  ],
  [{ status: 503, body: { error: 'The secret is hunter2' } }, 'HTTP 503'],
  [{ body: { token_type: 'bearer' } }, 'its answer has no access_token'],
  [{ body: null }, 'its answer has no access_token'],
  [{ fails: new DOMException('late', 'TimeoutError') }, 'no answer in time'],
])('tells the reason of %j in one sentence without a secret', async (answer, reason) => {
  const { readToken } = aClient(answer);
  await expect(readToken()).rejects.toThrow(`KAFKA_SASL_TOKEN_URL gave no token: ${reason}`);
  await expect(readToken()).rejects.not.toThrow('hunter2');
});
