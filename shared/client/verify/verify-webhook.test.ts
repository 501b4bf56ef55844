import { randomBytes } from 'node:crypto';
import { runInNewContext } from 'node:vm';
import { Webhook } from 'standardwebhooks';
import { Headers as UndiciHeaders } from 'undici';
import { verifyWebhook } from './verify-webhook.ts';

const secretOf = (): string => `whsec_${randomBytes(32).toString('base64')}`;
/** Signed and checked at one instant, however long the suite takes. */
const NOW_MS = Date.now();
const SECRET = secretOf();
const OTHER = secretOf();
const BODY = JSON.stringify({ requestId: 'req_1', name: 'Zoë', roles: [{ id: 'gold', granted: true }] });

function sign(secrets: readonly string[], at = new Date(NOW_MS), body = BODY): Record<string, string> {
  const signatures = secrets.map((secret) => new Webhook(secret).sign('msg_1', at, body));
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': signatures.join(' '),
  };
}

const foreignHeaders = (): { get(name: string): string | null } => {
  const known = sign([SECRET]);
  return runInNewContext('({ get: (name) => known[name.toLowerCase()] ?? null })', { known });
};

test.each([
  ['a record of headers', sign([SECRET]), SECRET],
  ['a Headers object', new Headers(sign([SECRET])), SECRET],
  ['a Headers object of the package undici', new UndiciHeaders(sign([SECRET])), SECRET],
  ['a Headers object of another realm', foreignHeaders(), SECRET],
  ['a Map of headers', new Map(Object.entries(sign([SECRET]))), SECRET],
  ['a record with a header that is called get', { ...sign([SECRET]), get: 'x' }, SECRET],
  [
    'headers in capitals',
    Object.fromEntries(Object.entries(sign([SECRET])).map(([k, v]) => [k.toUpperCase(), v])),
    SECRET,
  ],
  ['a rotation at the sender', sign([OTHER, SECRET]), SECRET],
  ['a rotation at the receiver', sign([SECRET]), [OTHER, SECRET]],
])('accepts a signed webhook: %s', async (_name, headers, secret) => {
  expect(await verifyWebhook(headers, BODY, secret)).toEqual(JSON.parse(BODY));
  expect(await verifyWebhook(headers, Buffer.from(BODY), secret)).toEqual(JSON.parse(BODY));
});

test('accepts a body whose bytes are of another realm', async () => {
  const bytes = [...Buffer.from(BODY)];
  for (const body of [
    runInNewContext('new Uint8Array(bytes)', { bytes }),
    runInNewContext('new Uint8Array(bytes).buffer', { bytes }),
    runInNewContext('new Uint8Array([0, ...bytes]).subarray(1)', { bytes }),
  ])
    expect(await verifyWebhook(sign([SECRET]), body, SECRET)).toEqual(JSON.parse(BODY));
});

const old = (seconds: number) => new Date(NOW_MS - seconds * 1_000);
test.each([
  ['a changed body', sign([SECRET]), BODY.replace('true', 'false')],
  ['another secret', sign([OTHER]), BODY],
  ['an old message', sign([SECRET], old(310)), BODY],
  ['a message from the future', sign([SECRET], old(-310)), BODY],
  ['another id', { ...sign([SECRET]), 'webhook-id': 'msg_2' }, BODY],
  ['no headers', {}, BODY],
  ['a timestamp that is not a number', { ...sign([SECRET]), 'webhook-timestamp': 'NaN' }, BODY],
  [
    'a signature of another version',
    {
      ...sign([SECRET]),
      'webhook-signature': sign([SECRET])['webhook-signature']?.replace('v1', 'v2') ?? '',
    },
    BODY,
  ],
  ['signed text that is not JSON', sign([SECRET], new Date(NOW_MS), 'hello'), 'hello'],
] as const)('refuses %s', async (_name, headers, body) => {
  await expect(verifyWebhook(headers, body, SECRET, { nowMs: NOW_MS })).rejects.toMatchObject({
    code: 'webhook-invalid',
  });
});

test('accepts an older message where the tolerance allows it', async () => {
  const headers = sign([SECRET], old(900));
  expect(await verifyWebhook(headers, BODY, SECRET, { toleranceSeconds: 1_000 })).toMatchObject({
    requestId: 'req_1',
  });
});

test('says that it needs the raw body and a secret as the portal shows it', async () => {
  await expect(verifyWebhook(sign([SECRET]), JSON.parse(BODY), SECRET)).rejects.toThrow('express.text');
  await expect(verifyWebhook(sign([SECRET]), BODY, 'hush')).rejects.toThrow('whsec_');
  for (const secret of [[], undefined, [undefined]] as unknown as readonly string[])
    await expect(verifyWebhook(sign([SECRET]), BODY, secret)).rejects.toMatchObject({
      code: 'config-invalid',
    });
});
