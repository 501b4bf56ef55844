import { judgeSignInDomain, judgeSignInDomains } from './sign-in-domain.ts';

test.each([
  ['example.com', 'example.com'],
  [' Shop.Example:8443 ', 'shop.example:8443'],
  ['localhost:3000', 'localhost:3000'],
  ['192.0.2.1', '192.0.2.1'],
  ['[2001:db8::1]:8080', '[2001:db8::1]:8080'],
  ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
])('takes %s as %s', (text, domain) => {
  expect(judgeSignInDomain(text)).toEqual({ domain });
});

test.each([
  ['', /Enter a domain/],
  ['https://example.com', /scheme/],
  ['example.com/login', /path/],
  ['example.com?a', /path/],
  ['user@example.com', /user name/],
  ['*.example.com', /\*/],
  ['bücher.example', /xn--/],
  ['example.com:', /port/],
  ['example.com:0', /port/],
  ['example.com:65536', /port/],
  ['example.com:https', /port/],
  ['example..com', /host/],
  ['example.com.', /host/],
  ['-a.example', /host/],
  ['[1::2::3]', /host/],
  [`${'a'.repeat(64)}.example`, /host/],
  [`${'a.'.repeat(200)}example`, /at most/],
])('says what is wrong with %j', (text, fault) => {
  expect(judgeSignInDomain(text)).toEqual({ fault: expect.stringMatching(fault) });
});

test('takes each domain of a list once, at most 20, and names the bad one', () => {
  expect(judgeSignInDomains(['a.example', 'A.example', 'b.example:1'])).toEqual({
    domains: ['a.example', 'b.example:1'],
  });
  expect(judgeSignInDomains(['a.example', 'b.example/x'])).toEqual({
    fault: expect.stringMatching(/^"b.example\/x": Leave the path out/),
  });
  const many = Array.from({ length: 21 }, (_, index) => `a${index}.example`);
  expect(judgeSignInDomains(many)).toEqual({ fault: 'At most 20 domains.' });
  expect(judgeSignInDomains(many.slice(1))).toHaveProperty('domains.length', 20);
});
