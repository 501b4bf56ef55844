import { secretsOf, shortenWords } from './shorten-words.ts';

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;
/** What a client is shown of words that an endpoint with these settings said. */
const shown = (text: string, url = 'http://rpc/', headers: Record<string, string> = {}) =>
  shortenWords(text, secretsOf([new URL(url)], headers));

test.each<[string, string, string, Record<string, string>?]>([
  ['a token behind its scheme', 's3cr3tKey12345', 'http://rpc', { Authorization: 'Bearer s3cr3tKey12345' }],
  ['a whole value', 'Bearer s3cr3tKey12345', 'http://rpc', { Authorization: 'Bearer s3cr3tKey12345' }],
  ['a key in another case', 'S3CR3TKEY12345', 'http://rpc', { 'x-api-key': 's3cr3tKey12345' }],
  ['a value of a cookie', 's3cr3tKey12345', 'http://rpc', { cookie: 'a=b; key=s3cr3tKey12345' }],
  ['the user of Basic', 'username1', 'http://rpc', { authorization: basic('username1:pass') }],
  ['the password of Basic', 'my pass:word', 'http://rpc', { authorization: basic('user:my pass:word') }],
  [
    'user and password of Basic',
    'username:password',
    'http://rpc',
    { authorization: basic('username:password') },
  ],
  [
    'the text of Basic',
    'dXNlcjpteSBwYXNzd29yZA==',
    'http://rpc',
    { authorization: basic('user:my password') },
  ],
  ['a segment of the path, as written', 'k%C3%A9y%2F1', 'http://rpc/v1/k%C3%A9y%2F1'],
  ['a segment of the path, decoded', 'kéy/12', 'http://rpc/v1/k%C3%A9y%2F12'],
  ['a value of the query, as written', 'a%2Bb%3Dc1', 'http://rpc/?key=a%2Bb%3Dc1'],
  ['a value of the query, decoded', 'a+b=c1', 'http://rpc/?key=a%2Bb%3Dc1'],
  ['a value of the query with a blank', 'my key 1', 'http://rpc/?key=my+key+1'],
  ['the user of the URL, as written', 'us%40er1', 'http://us%40er1:p@rpc/'],
  ['the user of the URL, decoded', 'us@er1', 'http://us%40er1:p@rpc/'],
  ['the password of the URL, decoded', 'pa:ss 1', 'http://u:pa%3Ass%201@rpc/'],
  ['a host of one word with its port', 'geth:8545', 'http://geth:8545/'],
])('hides %s', (...[, secret, url, headers]) => {
  expect(shown(`no more for ${secret} today`, url, headers)).toBe('no more for … today');
});

test('hides a key whole where another secret is a part of it', () => {
  const url = 'http://rpc/secret/secretKey99';
  expect(shown('no more for secretKey99 today', url)).toBe('no more for … today');
});

test.each([
  ['dial tcp 10.0.3.7:8545: connect: connection refused', 'dial tcp …: connect: connection refused'],
  ['peer 192.168.1.4 is gone.', 'peer … is gone.'],
  ['addr=10.0.3.7:8545, try=2', 'addr=…, try=2'],
  ['from ::ffff:10.0.3.7 and fe80::1%eth0', 'from … and …'],
  ['peer [2001:db8::8a2e:370:7334]:8545 is gone', 'peer […]:8545 is gone'],
  ['peer 2001:db8:0:0:0:8a2e:370:7334: gone', 'peer …: gone'],
  ['upstream node-3.internal.example is down', 'upstream … is down'],
  ['upstream "Node-3.Internal.Example:8545".', 'upstream "…".'],
  ['see provider.example/rpc?key=abc for more', 'see … for more'],
  ['ask ops@provider.example!', 'ask …!'],
  ['connect ECONNREFUSED localhost:8545', 'connect ECONNREFUSED …'],
  ['getaddrinfo ENOTFOUND geth', 'getaddrinfo ENOTFOUND …'],
  ['dial tcp: lookup geth on 10.96.0.10:53: no such host', 'dial tcp: lookup … on …: no such host'],
  [String.raw`{"see":"https:\/\/provider.example\/k"}`, '{"see":"…'],
  ['cannot read /srv/node/x.js:12:3 today', 'cannot read … today'],
  ['cannot read ../data/geth.ipc today', 'cannot read … today'],
  [String.raw`cannot read C:\node\x.js today`, 'cannot read … today'],
  ['panic in core/vm/evm.go:123: nil', 'panic in …: nil'],
  ['TypeError: x at Foo (/srv/node/x.js:12:3)', 'TypeError: x …'],
  ['TypeError: x\n    at async Foo.bar (node:internal/x:1:2)\n    at y', 'TypeError: x…'],
  [String.raw`{"stack":"Error: x\n    at Array.map (<anonymous>)"}`, '{"stack":"Error: x…'],
  ['boom at java.lang.Thread.run(Thread.java:829)', 'boom …'],
  ['panic: x goroutine 12 [running]: main.foo()', 'panic: x …'],
  ['Traceback (most recent call last): File "x.py"', '…'],
])('cuts hosts, paths and stacks: %j', (text, expected) => {
  expect(shown(text)).toBe(expected);
});

test.each([
  'query exceeds 10000 blocks',
  'query returned more than 10000 results. Try the range 0x1312d00-0x1312d9f, 20000000..20000159',
  'block range 20000000-20010000 is above 10.000 blocks; at most 1.5k',
  'missing trie node: block 12345678 (latest: 12345999) at 12:30:59, 2026-11-27T12:30:59.123Z',
  'too many blocks.Please lower params.toBlock, at 10 (max:5) requests/second',
  'Geth/v1.13.5-stable/linux-amd64/go1.21.3 does not know eth_getLogs',
  'gas required exceeds allowance (30000000): code=-32000',
])('leaves numbers and words readable: %s', (text) => {
  expect(shown(text)).toBe(text);
});

test('is done at once with a long text that looks like many things', () => {
  const startedAt = performance.now();
  for (const part of ['a.', 'at x(/.', '::', '/a', 'a=', '1.', 'a:\\', 'lookup ', 'at ('])
    shown(part.repeat(1_000), 'http://rpc/secret-path', { authorization: 'Bearer s3cr3tKey12345' });
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});
