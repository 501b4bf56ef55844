import { validationRules } from '../../../test/support/validation-rules.ts';
import { asSent, validateCheck } from './validate-check.ts';

const ACCOUNT = '0x52908400098527886E0F7030069857D2E4169EE7';
const TOKEN = '0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359';
const RULES = validationRules();
const NATIVE = { type: 'NATIVE', chainId: 1, roleId: 'r' };
const ERC20 = { type: 'ERC20', chainId: 1, contractAddress: TOKEN, roleId: 'r' };
const ERC721 = { ...ERC20, type: 'ERC721' };
const ERC1155 = { ...ERC20, type: 'ERC1155', tokenId: '7' };
const check = (changes: object) => ({ account: ACCOUNT, rules: [NATIVE], ...changes });
const withRule = (rule: unknown) => check({ rules: [rule] });

/** The faults as `pointer code`. */
function faultsOf(body: unknown, rules = RULES): string[] {
  const validation = validateCheck(JSON.parse(JSON.stringify(body)), rules);
  return validation.ok ? [] : validation.faults.map(({ pointer, code }) => `${pointer} ${code}`).sort();
}

describe('a valid check', () => {
  it.each([
    ['a native balance', NATIVE],
    ['an ERC20 amount', { ...ERC20, minToken: '1500.5', maxToken: '2000' }],
    ['an ERC721 with ids', { ...ERC721, tokenId: '1,2,42-69' }],
    ['an ERC721 without ids', ERC721],
    ['an ERC1155', { ...ERC1155, tokenId: '7-8', minToken: '15' }],
    ['zero with a maximum', { ...ERC20, minToken: '0.0', maxToken: '0' }],
    ['78 digits and 36 of a fraction', { ...ERC20, minToken: `${'9'.repeat(78)}.${'9'.repeat(36)}` }],
    ['128 characters outside of the BMP', { ...NATIVE, roleId: '😀'.repeat(128) }],
    ['a name and a description', { ...NATIVE, name: '', description: 'd'.repeat(256) }],
    ['a NUL in its role', { ...NATIVE, roleId: '\0' }],
  ])('may have %s', (_, rule) => expect(faultsOf(withRule(rule))).toEqual([]));

  it('has every default filled in, and neither name nor description', () => {
    const validation = validateCheck(withRule({ ...NATIVE, name: 'x', description: 'y' }), RULES);
    expect(validation).toMatchObject({
      ok: true,
      value: {
        rules: [{ ...NATIVE, minToken: '1' }],
        isAsync: false,
        callbackUrl: undefined,
        onUndetermined: 'omit',
        consistency: { blockTag: 'latest', minBlock: {} },
      },
    });
  });

  it('equals another fingerprint exactly if the validated values are equal', () => {
    const canonical = (body: unknown): string => {
      const validation = validateCheck(body, RULES);
      return validation.ok ? validation.value.canonical() : 'invalid';
    };
    const plain = canonical(withRule(NATIVE));
    expect(
      canonical({ rules: [{ roleId: 'r', minToken: '1', chainId: 1, type: 'NATIVE' }], account: ACCOUNT }),
    ).toBe(plain);
    expect(canonical({ ...withRule(NATIVE), account: ACCOUNT.toLowerCase() })).toBe(plain);
    expect(canonical(check({ async: false, onUndetermined: 'omit', consistency: {} }))).toBe(plain);
    for (const other of [
      check({ async: true }),
      check({ onUndetermined: 'deny' }),
      check({ consistency: { blockTag: 'safe' } }),
      withRule({ ...NATIVE, minToken: '1.0' }),
      check({ rules: [NATIVE, NATIVE] }),
      check({ callbackUrl: 'https://hooks.example.com/' }),
    ])
      expect(canonical(other)).not.toBe(plain);
  });

  it('has one fingerprint for a callback with and without async', () => {
    const canonicalOf = (more: object) => asSent(check(more), RULES)?.canonical();
    const plain = { callbackUrl: 'https://hooks.example.com/' };
    expect(canonicalOf(plain)).toEqual(expect.any(String));
    expect(canonicalOf({ ...plain, async: true })).toBe(canonicalOf(plain));
  });

  it('has the text by which idempotency keys are compared for a day, so that an upgrade keeps it', () => {
    const body = { ...withRule({ ...NATIVE, name: 'x' }), consistency: { minBlock: { '1': 7 } } };
    const validation = validateCheck(body, RULES);
    expect(validation.ok && validation.value.canonical()).toBe(
      '["0x52908400098527886e0f7030069857d2e4169ee7",' +
        '[{"chainId":1,"contractAddress":null,"minToken":"1","roleId":"r","type":"NATIVE"}],' +
        '[null,false],"omit",{"blockTag":"latest","minBlock":{"1":7}},[null,false,null],null]',
    );
  });
});

describe('an invalid check', () => {
  it.each<[string, unknown, string[]]>([
    ['null', null, [' wrong-type']],
    ['no members', {}, ['/account required', '/rules required']],
    ['an unknown member', check({ acount: 1 }), ['/acount unknown-member']],
    ['a member that needs escaping', check({ 'a/b~c': 1 }), ['/a~1b~0c unknown-member']],
    ['an ENS name', check({ account: 'vitalik.eth' }), ['/account account-format-unsupported']],
    ['a CAIP-10 id', check({ account: `eip155:1:${ACCOUNT}` }), ['/account account-format-unsupported']],
    ['noise for an account', check({ account: 'x' }), ['/account malformed']],
    ['a wrong checksum', check({ account: ACCOUNT.replace('E', 'e') }), ['/account checksum-mismatch']],
    ['the zero address', check({ account: `0x${'0'.repeat(40)}` }), ['/account zero-address']],
    ['a number for an account', check({ account: 1 }), ['/account wrong-type']],
    ['no rules', check({ rules: [] }), ['/rules too-short']],
    ['101 rules', check({ rules: Array(101).fill(NATIVE) }), ['/rules too-many']],
    ['rules that are not a list', check({ rules: {} }), ['/rules wrong-type']],
    ['a rule that is not an object', withRule(null), ['/rules/0 wrong-type']],
    [
      'null for an optional member',
      check({ async: null, callbackUrl: null }),
      ['/async wrong-type', '/callbackUrl wrong-type'],
    ],
    ['an unknown choice', check({ onUndetermined: 'maybe' }), ['/onUndetermined not-a-choice']],
    ['an unknown rule type', withRule({ ...ERC20, type: 'ERC404' }), ['/rules/0/type rule-type-unsupported']],
    [
      'a rule type in small letters',
      withRule({ ...ERC20, type: 'erc20' }),
      ['/rules/0/type rule-type-unsupported'],
    ],
    ['no chain', withRule({ ...NATIVE, chainId: undefined }), ['/rules/0/chainId required']],
    [
      'a chain that is not configured',
      withRule({ ...NATIVE, chainId: 2 }),
      ['/rules/0/chainId chain-unsupported'],
    ],
    ['a chain as text', withRule({ ...NATIVE, chainId: '1' }), ['/rules/0/chainId wrong-type']],
    ['chain 0', withRule({ ...NATIVE, chainId: 0 }), ['/rules/0/chainId out-of-range']],
    [
      'a chain beyond the safe integers',
      withRule({ ...NATIVE, chainId: 2 ** 53 }),
      ['/rules/0/chainId out-of-range'],
    ],
    ['half a chain', withRule({ ...NATIVE, chainId: 1.5 }), ['/rules/0/chainId wrong-type']],
    [
      'half a chain, beside which the other members are judged',
      withRule({ ...NATIVE, chainId: 1.5, minToken: '0', tokenId: '1' }),
      ['/rules/0/chainId wrong-type', '/rules/0/minToken min-token-zero', '/rules/0/tokenId not-allowed'],
    ],
    [
      'a contract on NATIVE',
      withRule({ ...ERC20, type: 'NATIVE' }),
      ['/rules/0/contractAddress not-allowed'],
    ],
    ['no contract on ERC20', withRule({ ...NATIVE, type: 'ERC20' }), ['/rules/0/contractAddress required']],
    ['an empty role', withRule({ ...NATIVE, roleId: '' }), ['/rules/0/roleId too-short']],
    [
      '129 characters of a role',
      withRule({ ...NATIVE, roleId: '😀'.repeat(129) }),
      ['/rules/0/roleId too-long'],
    ],
    ['a JSON number as an amount', withRule({ ...NATIVE, minToken: 1 }), ['/rules/0/minToken wrong-type']],
    ['an exponent', withRule({ ...NATIVE, minToken: '1e3' }), ['/rules/0/minToken malformed']],
    ['a leading zero', withRule({ ...NATIVE, minToken: '01' }), ['/rules/0/minToken malformed']],
    ['a sign', withRule({ ...NATIVE, minToken: '-1' }), ['/rules/0/minToken malformed']],
    ['79 digits', withRule({ ...NATIVE, minToken: '9'.repeat(79) }), ['/rules/0/minToken malformed']],
    [
      '37 digits of a fraction',
      withRule({ ...NATIVE, minToken: `1.${'1'.repeat(37)}` }),
      ['/rules/0/minToken malformed'],
    ],
    [
      'zero without a maximum',
      withRule({ ...NATIVE, minToken: '0.0' }),
      ['/rules/0/minToken min-token-zero'],
    ],
    [
      'a maximum below the minimum',
      withRule({ ...NATIVE, minToken: '1.6', maxToken: '1.50' }),
      ['/rules/0/maxToken out-of-range'],
    ],
    [
      'a maximum below the default',
      withRule({ ...NATIVE, maxToken: '0.5' }),
      ['/rules/0/maxToken out-of-range'],
    ],
    ['1.0 of an ERC721', withRule({ ...ERC721, minToken: '1.0' }), ['/rules/0/minToken fraction']],
    ['half an ERC1155', withRule({ ...ERC1155, maxToken: '1.5' }), ['/rules/0/maxToken fraction']],
    ['ids on ERC20', withRule({ ...ERC20, tokenId: '1' }), ['/rules/0/tokenId not-allowed']],
    ['ids on NATIVE', withRule({ ...NATIVE, tokenId: '1' }), ['/rules/0/tokenId not-allowed']],
    ['no ids on ERC1155', withRule({ ...ERC1155, tokenId: undefined }), ['/rules/0/tokenId required']],
    ['a space among ids', withRule({ ...ERC1155, tokenId: '1, 2' }), ['/rules/0/tokenId malformed']],
    ['a reversed range', withRule({ ...ERC1155, tokenId: '9-7' }), ['/rules/0/tokenId out-of-range']],
    [
      'an id of 2^256',
      withRule({ ...ERC1155, tokenId: String(2n ** 256n) }),
      ['/rules/0/tokenId out-of-range'],
    ],
    ['257 ids', withRule({ ...ERC1155, tokenId: '0-256' }), ['/rules/0/tokenId out-of-range']],
    [
      'a block of an unnamed chain',
      check({ consistency: { minBlock: { '10': 1 } } }),
      ['/consistency/minBlock/10 chain-not-in-rules'],
    ],
    [
      'a negative block',
      check({ consistency: { minBlock: { '1': -1 } } }),
      ['/consistency/minBlock/1 out-of-range'],
    ],
    [
      'a chain that is not a number',
      check({ consistency: { minBlock: { x: 1 } } }),
      ['/consistency/minBlock/x malformed'],
    ],
    ['an unknown consistency', check({ consistency: { block: 1 } }), ['/consistency/block unknown-member']],
    ['a relative address', check({ callbackUrl: '/x' }), ['/callbackUrl malformed']],
    [
      'too long an address',
      check({ callbackUrl: `https://e.com/${'a'.repeat(2_048)}` }),
      ['/callbackUrl too-long'],
    ],
    ['plain http', check({ callbackUrl: 'http://e.com/' }), ['/callbackUrl callback-url-refused']],
    ['another scheme', check({ callbackUrl: 'ftp://e.com/' }), ['/callbackUrl callback-url-refused']],
    ['user info', check({ callbackUrl: 'https://a:b@e.com/' }), ['/callbackUrl callback-url-refused']],
    ['empty user info', check({ callbackUrl: 'https://@e.com/' }), ['/callbackUrl callback-url-refused']],
    ['an empty fragment', check({ callbackUrl: 'https://e.com/#' }), ['/callbackUrl callback-url-refused']],
    ['a blocked port', check({ callbackUrl: 'https://e.com:6667/' }), ['/callbackUrl callback-url-refused']],
    [
      'loopback in octal',
      check({ callbackUrl: 'https://0177.0.0.1/' }),
      ['/callbackUrl callback-url-refused'],
    ],
    ['localhost', check({ callbackUrl: 'https://localhost/' }), ['/callbackUrl callback-url-refused']],
  ])('with %s has a fault with its pointer', (_, body, faults) => expect(faultsOf(body)).toEqual(faults));

  it('holds no half of a surrogate pair in any text', () => {
    const body = withRule({ ...NATIVE, roleId: '\ud800', name: '\udc00' });
    const validation = validateCheck(body, RULES);
    expect(validation.ok ? [] : validation.faults.map(({ code }) => code)).toEqual([
      'lone-surrogate',
      'lone-surrogate',
    ]);
  });

  it('gets all of its faults at once', () => {
    const body = {
      account: 'x',
      extra: 1,
      rules: [{ ...ERC721, minToken: '0.5', roleId: 7 }, NATIVE, { ...ERC1155, tokenId: 'a', chainId: 5 }],
      callbackUrl: 'http://10.0.0.1/',
    };
    expect(faultsOf(body)).toEqual([
      '/account malformed',
      '/callbackUrl callback-url-refused',
      '/extra unknown-member',
      '/rules/0/minToken fraction',
      '/rules/0/roleId wrong-type',
      '/rules/2/chainId chain-unsupported',
      '/rules/2/tokenId malformed',
    ]);
  });

  it('lists a bounded number of faults', () => {
    const body = check({ ...Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`x${i}`, 1])) });
    expect(faultsOf(body)).toHaveLength(1_000);
  });
});

test('names the member, the fault and the expected value in every detail', () => {
  const body = {
    account: ACCOUNT,
    extra: 1,
    rules: [
      { ...NATIVE, minToken: 5, chainId: 7 },
      { ...ERC721, minToken: '0.5', roleId: undefined },
    ],
    callbackUrl: 'http://e.com/',
  };
  const validation = validateCheck(body, RULES);
  expect(validation.ok ? [] : validation.faults.map(({ detail }) => detail)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^\/extra is not a known member; known: account, accounts, /),
      '/rules/0/minToken must be a decimal string such as "1500.5".',
      '/rules/0/chainId names chain 7, which is not configured; configured: 1.',
      '/rules/1/minToken must be a whole number, such as "3": the tokens cannot be divided.',
      '/rules/1/roleId must be a string.',
      expect.stringMatching(/^\/callbackUrl is refused: .*https/),
    ]),
  );
});

describe('the bounds of a check', () => {
  const rules = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ ...NATIVE, roleId: `r${index}` }));
  const enterprise = { ...RULES, isEnterprise: true };

  it('are 1000 rules for an asynchronous one of the enterprise tier alone', () => {
    expect(faultsOf(check({ rules: rules(1_000), async: true }), enterprise)).toEqual([]);
    expect(faultsOf(check({ rules: rules(1_000), callbackUrl: 'https://e.com/' }), enterprise)).toEqual([]);
    expect(faultsOf(check({ rules: rules(1_001), async: true }), enterprise)).toEqual(['/rules too-many']);
    expect(faultsOf(check({ rules: rules(101) }), enterprise)).toEqual(['/rules too-many']);
    expect(faultsOf(check({ rules: rules(101), async: true }))).toEqual(['/rules too-many']);
  });

  it('are 2 000 reads, 10 000 of an asynchronous one, equal ones counted once', () => {
    const ranges = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ ...ERC1155, tokenId: `${i * 250}-${i * 250 + 249}` }));
    expect(faultsOf(check({ rules: ranges(8) }))).toEqual([]);
    expect(faultsOf(check({ rules: ranges(9) }))).toEqual(['/rules too-many-reads']);
    expect(faultsOf(check({ rules: Array(100).fill(ranges(1)[0]) }))).toEqual([]);
    expect(faultsOf(check({ rules: ranges(40), async: true }))).toEqual([]);
    expect(faultsOf(check({ rules: ranges(41), async: true }))).toEqual(['/rules too-many-reads']);
  });
});
