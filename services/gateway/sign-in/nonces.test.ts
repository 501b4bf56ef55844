import { makeNonces } from './nonces.ts';

const NOW = Date.UTC(2026, 10, 21, 10);
const ring = (...numbers: number[]) => ({
  current: { number: numbers.at(-1) ?? 1 },
  byNumber: new Map(numbers.map((number) => [number, new Uint8Array(32).fill(number)])),
});

test('a nonce is alphanumeric, of 16 to 64 characters, and different each time', () => {
  const nonces = makeNonces(ring(1));
  const issued = Array.from({ length: 1_000 }, () => nonces.issue('app_1', NOW));
  for (const nonce of issued) expect(nonce).toMatch(/^[0-9A-Za-z]{16,64}$/);
  expect(new Set(issued).size).toBe(1_000);
});

test('a nonce tells its time to the app that it was issued to, and nothing to another', () => {
  const nonces = makeNonces(ring(1));
  const nonce = nonces.issue('app_1', NOW);
  expect(nonces.issuedAtOf(nonce, 'app_1')).toBe(NOW);
  expect(nonces.issuedAtOf(nonce, 'app_2')).toBeUndefined();
  expect(nonces.issuedAtOf(nonce.toUpperCase(), 'app_1')).toBeUndefined();
  expect(nonces.issuedAtOf('32891756', 'app_1')).toBeUndefined();
});

test('a nonce of which one digit was changed is of nobody', () => {
  const nonces = makeNonces(ring(1));
  const nonce = nonces.issue('app_1', NOW);
  for (let at = 0; at < nonce.length; at++) {
    const digit = (Number.parseInt(nonce.charAt(at), 16) ^ 1).toString(16);
    expect(nonces.issuedAtOf(nonce.slice(0, at) + digit + nonce.slice(at + 1), 'app_1')).toBeUndefined();
  }
});

test('a nonce of an older key is known as long as the key is in the ring', () => {
  const nonce = makeNonces(ring(1)).issue('app_1', NOW);
  expect(makeNonces(ring(1, 2)).issuedAtOf(nonce, 'app_1')).toBe(NOW);
  expect(makeNonces(ring(2)).issuedAtOf(nonce, 'app_1')).toBeUndefined();
});
