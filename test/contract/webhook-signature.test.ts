import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import {
  headersOf,
  verifyCommand,
} from '../../services/developer-portal/page/features/deliveries/webhook-headers.ts';
import { attemptWebhook } from '../../services/webhook-dispatcher/attempt-webhook.ts';
import { makeSign } from '../../services/webhook-dispatcher/delivery/read-signers.ts';
import { signMessage } from '../../services/webhook-dispatcher/domain/sign-message.ts';
import type { WebhookRetry } from '../../shared/contracts/webhooks/webhook.ts';

// The signature that receivers rely on: Standard Webhooks 1.0.0, checked with its stock library,
// with a vector of the specification, and with an implementation of three lines that shares no code
// with either.

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
const signer = (secret: string, expiresAtMs?: number) => ({ sign: makeSign(secret), expiresAtMs });

function signByHand(secret: string, id: string, timestamp: string, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

test('signs the vector of the stock libraries with the expected signature', () => {
  const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
  const body = '{"test": 2432232314}';
  expect(new Webhook(SECRET).sign(id, new Date(1_614_265_330_000), body)).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
  const headers = signMessage({
    requestId: id.replace(/^msg_/, ''),
    body,
    atMs: 1_614_265_330_999,
    signers: [signer(SECRET)],
  });
  expect(headers).toEqual({
    'webhook-id': id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    'x-service-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('any body verifies with a stock library and by hand, and an altered one does not', () => {
  fc.assert(
    fc.property(fc.json(), fc.uuid(), (body, requestId) => {
      const atMs = Date.now();
      const headers = signMessage({ requestId, body, atMs, signers: [signer(SECRET)] });
      new Webhook(SECRET).verify(body, headers);
      const signature = signByHand(SECRET, headers['webhook-id'], headers['webhook-timestamp'], body);
      expect(headers['webhook-signature']).toBe(signature);
      expect(() => new Webhook(SECRET).verify(`${body} `, headers)).toThrow('No matching signature');
      expect(() => new Webhook(OTHER_SECRET).verify(body, headers)).toThrow('No matching signature');
    }),
    { numRuns: 50 },
  );
});

test('every live secret of a rotation verifies, newest first, and an expired one no longer signs', () => {
  const atMs = Date.now();
  const signers = [signer(SECRET), signer(OTHER_SECRET, atMs + 1), signer('whsec_b2xk', atMs)];
  const headers = signMessage({ requestId: 'r', body: '{}', atMs, signers });
  const [newest, older, ...rest] = headers['webhook-signature'].split(' ');
  expect(newest).toBe(signByHand(SECRET, 'msg_r', headers['webhook-timestamp'], '{}'));
  expect(older).toBe(signByHand(OTHER_SECRET, 'msg_r', headers['webhook-timestamp'], '{}'));
  expect(rest).toEqual([]);
  for (const secret of [SECRET, OTHER_SECRET]) new Webhook(secret).verify('{}', headers);
  expect(() => new Webhook('whsec_b2xk').verify('{}', headers)).toThrow();
});

test('at most three secrets sign', () => {
  const signers = Array.from({ length: 5 }, () => signer(SECRET));
  const headers = signMessage({ requestId: 'r', body: '{}', atMs: 0, signers });
  expect(headers['webhook-signature'].split(' ')).toHaveLength(3);
});

// The portal's page of a delivery.
const AT_MS = Date.parse('2026-11-22T10:00:00.999Z');
const shownAttempt = { attempt: 2, at: new Date(AT_MS).toISOString() };

test('the portal shows the headers of an attempt, with their known values', async () => {
  let sent: Readonly<Record<string, string>> = {};
  const delivery = { requestId: 'r1', callbackUrl: 'https://a.example', attemptCount: 1 };
  await attemptWebhook(
    {
      attempt: async ({ headers }) => {
        sent = headers;
        return { class: 'delivered', durationMs: 1, retryAfter: undefined, body: '' };
      },
      userAgent: 'Rolecall/1.0.0',
    },
    {
      delivery: delivery as WebhookRetry,
      body: '{}',
      signers: [signer(SECRET)],
      atMs: AT_MS,
      traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
    },
  );
  const shown = Object.fromEntries(headersOf('r1', shownAttempt));
  expect(Object.keys(shown).sort()).toEqual(Object.keys(sent).sort());
  for (const name of ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-attempt'])
    expect([name, shown[name]]).toEqual([name, sent[name]]);
});

test('the shell commands of the portal print the signature of the attempt', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rolecall-verify-'));
  try {
    const body = JSON.stringify({ role: "o'Neill é \\ %s $HOME `x`", roles: [] });
    writeFileSync(join(folder, 'payload.json'), `${body}\n`);
    const command = verifyCommand('r1', shownAttempt).replace('whsec_…', SECRET);
    const printed = execFileSync('sh', ['-c', command], { cwd: folder, encoding: 'utf8' });
    const signed = signMessage({ requestId: 'r1', body, atMs: AT_MS, signers: [signer(SECRET)] });
    expect(printed.trim()).toBe(signed['webhook-signature']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
