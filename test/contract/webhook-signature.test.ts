import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { makeSign } from '../../services/webhook-dispatcher/delivery/make-sign.ts';
import { signMessage } from '../../services/webhook-dispatcher/domain/sign-message.ts';

// The signature that receivers rely on: Standard Webhooks 1.0.0, checked with its stock library, with a vector
// of the specification, and with an implementation of three lines that shares no code with either.

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
const signer = (secret: string, expiresAtMs?: number) => ({ sign: makeSign(secret), expiresAtMs });

function signByHand(secret: string, id: string, timestamp: string, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

test('signs as the vector of the stock libraries says', () => {
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

test('any body verifies with a stock library and by hand, and a changed one does not', () => {
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

test('during a rotation every live secret verifies, newest first, and an expired one signs no more', () => {
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
