import { parseCidrs } from './callback-address.ts';
import { judgeCallbackUrl } from './judge-callback-url.ts';

const PUBLIC = { allowHttp: false, allowedCidrs: [] };
const LOCAL = { allowHttp: true, allowedCidrs: parseCidrs('127.0.0.0/8') };

test.each([
  ['https://hooks.example.com/x', PUBLIC],
  ['http://127.0.0.1:9000/x', LOCAL],
])('%s is taken where the operator allows it', (url, policy) => {
  expect(judgeCallbackUrl(url, policy)).toEqual({ href: url });
});

test.each([
  ['example.com/hooks', PUBLIC, 'This is not an absolute URL. Write it like https://example.com/hooks.'],
  ['localhost:3000/hooks', PUBLIC, 'The URL must begin with https://, not with "localhost:".'],
  ['ftp://e.com/', LOCAL, 'The URL must begin with https:// or http://, not with "ftp:".'],
  ['http://e.com/', PUBLIC, 'The scheme must be https, not http.'],
  ['https://e.com:22/', PUBLIC, 'Port 22 is not allowed.'],
])('the error for %s names the fault and an acceptable URL', (url, policy, detail) => {
  expect(judgeCallbackUrl(url, policy)).toMatchObject({ fault: { detail } });
});

test('a URL that is far longer with its characters encoded is malformed', () => {
  expect(judgeCallbackUrl(`https://e.com/${'é'.repeat(1_300)}`, PUBLIC)).toHaveProperty('href');
  const judged = judgeCallbackUrl(`https://e.com/${'é'.repeat(2_000)}`, PUBLIC);
  expect(judged).toMatchObject({ fault: { code: 'malformed' } });
});

test('all faults of an address are reported at once', () => {
  const judged = judgeCallbackUrl('http://a:b@127.0.0.1:22/#x', PUBLIC);
  if (!('fault' in judged)) throw new Error('it was taken');
  for (const part of ['https', 'User info', 'fragment', 'Port 22', 'The host is refused'])
    expect(judged.fault.detail).toContain(part);
});
