import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { validationRules } from '../../../test/support/validation-rules.ts';
import { validateCheck } from './validate-check.ts';

// Composed rules, several wallets, vaults, snapshots and rule sets: every fault by its pointer.

const ACCOUNT = '0x52908400098527886E0F7030069857D2E4169EE7';
const OTHER = '0x8617E340B3D01FA5F11F306F4090FD50E238070D';
const TOKEN = '0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359';
const RULES = validationRules([1, 10]);
const LEAF = { type: 'NATIVE', chainId: 1 };
const ERC20 = { type: 'ERC20', chainId: 1, contractAddress: TOKEN };
const ALL = { type: 'ALL', roleId: 'r', rules: [LEAF] };
const AT_LEAST = { type: 'AT_LEAST', roleId: 'r', atLeast: 1, rules: [LEAF, ERC20] };
const check = (changes: object) => ({ account: ACCOUNT, rules: [{ ...LEAF, roleId: 'r' }], ...changes });
const withRule = (rule: unknown) => check({ rules: [rule] });
const wallets = (changes: object) => ({ rules: [{ ...LEAF, roleId: 'r' }], ...changes });
/** Nested composed rules, with a simple rule inside the innermost. */
const nested = (depth: number): object =>
  depth === 0 ? LEAF : { type: depth % 2 ? 'ANY' : 'NONE', rules: [nested(depth - 1)] };
const addresses = (count: number) =>
  Array.from({ length: count }, (_, index) => `0x${String(index + 1).padStart(40, '0')}`);

const validate = (body: unknown, rules = RULES) => validateCheck(JSON.parse(JSON.stringify(body)), rules);
/** The faults as `pointer code`. */
function faultsOf(body: unknown, rules = RULES): string[] {
  const validation = validate(body, rules);
  return validation.ok ? [] : validation.faults.map(({ pointer, code }) => `${pointer} ${code}`).sort();
}
function detailsOf(body: unknown, rules = RULES): string[] {
  const validation = validate(body, rules);
  return validation.ok ? [] : validation.faults.map(({ detail }) => detail);
}
function validCheck(body: unknown, rules = RULES) {
  const validation = validate(body, rules);
  if (!validation.ok) throw new Error(JSON.stringify(validation.faults));
  return validation.value;
}

describe('a valid check', () => {
  it.each<[string, unknown]>([
    [
      'a rule of each composed type',
      check({ rules: ['ALL', 'ANY', 'NONE'].map((type) => ({ ...ALL, type })) }),
    ],
    ['as many of its rules as there are', withRule({ ...AT_LEAST, atLeast: 2 })],
    ['composed rules 4 deep', withRule({ ...nested(4), roleId: 'r' })],
    [
      'labels on rules inside of rules',
      withRule({ ...ALL, name: 'n', rules: [{ ...LEAF, description: 'd' }] }),
    ],
    ['16 wallets', wallets({ accounts: addresses(16) })],
    ['16 vaults', check({ vaults: addresses(16) })],
    ['no vaults', check({ vaults: [] })],
    ['a vault that is an account too', check({ vaults: [ACCOUNT] })],
    ['a snapshot', check({ consistency: { atBlock: { '1': 0 } } })],
    [
      'a snapshot of one chain and a minimum of another',
      check({
        rules: [
          { ...LEAF, roleId: 'a' },
          { ...LEAF, chainId: 10, roleId: 'b' },
        ],
        consistency: { atBlock: { '1': 5 }, minBlock: { '10': 5 } },
      }),
    ],
    [
      'a snapshot of a chain that a nested rule names',
      check({ ...withRule(ALL), consistency: { atBlock: { '1': 5 } } }),
    ],
    ['a proof of the shortest validity', check({ proof: true, proofSeconds: 30 })],
    ['a proof of the longest validity', check({ proof: true, proofSeconds: 86_400 })],
    ['a proof by ES256', check({ proof: true, proofAlg: 'ES256' })],
  ])('may have %s', (_, body) => expect(faultsOf(body)).toEqual([]));

  it('has the defaults of nested rules filled in, and their labels left out', () => {
    const rules = [
      { ...LEAF, name: 'x' },
      { type: 'NONE', name: 'y', rules: [ERC20] },
    ];
    expect(validCheck(withRule({ ...ALL, rules })).rules).toEqual([
      {
        ...ALL,
        rules: [
          { ...LEAF, minToken: '1' },
          { type: 'NONE', rules: [{ ...ERC20, minToken: '1' }] },
        ],
      },
    ]);
  });

  it('may ask for a proof only where verdicts are signed', () => {
    const validation = validate(check({ proof: true }), { ...RULES, signsVerdicts: false });
    expect(validation).toMatchObject({
      ok: false,
      faults: [{ pointer: '/proof', code: 'proof-unavailable' }],
    });
    expect(validate(check({ proof: false }), { ...RULES, signsVerdicts: false }).ok).toBe(true);
  });

  it('carries its wallets, its snapshot and its proof', () => {
    expect(
      validCheck({
        ...wallets({ accounts: [ACCOUNT, OTHER], vaults: [TOKEN] }),
        consistency: { atBlock: { '1': 7 } },
        explain: true,
        proof: true,
      }),
    ).toMatchObject({
      account: ACCOUNT,
      accounts: [ACCOUNT, OTHER],
      vaults: [TOKEN],
      explain: true,
      consistency: { blockTag: 'latest', minBlock: {}, atBlock: { '1': 7 } },
      proof: { seconds: 300, alg: 'EdDSA' },
    });
    expect(validCheck(check({ proof: true, proofAlg: 'ES256', async: true })).proof).toEqual({
      seconds: 3_600,
      alg: 'ES256',
    });
    expect(validCheck(check({ proof: false })).proof).toBeUndefined();
  });

  it('equals another fingerprint exactly if the validated values are equal', () => {
    const canonical = (body: unknown) => validCheck(body).canonical();
    const composed = { ...ALL, rules: [LEAF, { type: 'NONE', rules: [ERC20] }] };
    expect(canonical(withRule({ rules: composed.rules, roleId: 'r', type: 'ALL' }))).toBe(
      canonical(withRule(composed)),
    );
    expect(canonical(withRule({ ...composed, rules: [{ ...LEAF, minToken: '1' }, composed.rules[1]] }))).toBe(
      canonical(withRule(composed)),
    );
    expect(canonical(wallets({ accounts: [ACCOUNT.toLowerCase()] }))).toBe(
      canonical(wallets({ accounts: [ACCOUNT] })),
    );
    expect(canonical(check({ explain: false, proof: false }))).toBe(canonical(check({})));
    expect(canonical(check({ vaults: [], consistency: { atBlock: {} } }))).toBe(canonical(check({})));
    const texts = [
      check({}),
      check({ explain: true }),
      check({ vaults: [TOKEN] }),
      check({ proof: true }),
      check({ proof: true, proofSeconds: 60 }),
      check({ proof: true, proofAlg: 'ES256' }),
      check({ consistency: { atBlock: { '1': 7 } } }),
      wallets({ accounts: [ACCOUNT, OTHER] }),
      wallets({ accounts: [OTHER, ACCOUNT] }),
      withRule(composed),
      withRule({ ...composed, rules: [...composed.rules].reverse() }),
      withRule({ ...AT_LEAST, atLeast: 1 }),
      withRule({ ...AT_LEAST, atLeast: 2 }),
    ].map(canonical);
    expect(new Set(texts).size).toBe(texts.length);
  });
});

describe('an invalid check', () => {
  it.each<[string, unknown, string[]]>([
    [
      'a role inside of a rule',
      withRule({ ...ALL, rules: [{ ...LEAF, roleId: 'x' }] }),
      ['/rules/0/rules/0/roleId not-allowed'],
    ],
    ['no rule inside', withRule({ ...ALL, rules: [] }), ['/rules/0/rules too-short']],
    ['no rules inside at all', withRule({ type: 'ANY', roleId: 'r' }), ['/rules/0/rules required']],
    ['rules inside that are not a list', withRule({ ...ALL, rules: LEAF }), ['/rules/0/rules wrong-type']],
    [
      'a rule inside that is not an object',
      withRule({ ...ALL, rules: ['x'] }),
      ['/rules/0/rules/0 wrong-type'],
    ],
    [
      'an unknown type inside',
      withRule({ ...ALL, rules: [{ type: 'XOR' }] }),
      ['/rules/0/rules/0/type rule-type-unsupported'],
    ],
    ['no type inside', withRule({ ...ALL, rules: [{}] }), ['/rules/0/rules/0/type required']],
    ['a number for a type', withRule({ ...LEAF, type: 1, roleId: 'r' }), ['/rules/0/type wrong-type']],
    ['no atLeast', withRule({ ...AT_LEAST, atLeast: undefined }), ['/rules/0/atLeast required']],
    ['an atLeast of zero', withRule({ ...AT_LEAST, atLeast: 0 }), ['/rules/0/atLeast out-of-range']],
    [
      'an atLeast above the number of its rules',
      withRule({ ...AT_LEAST, atLeast: 3 }),
      ['/rules/0/atLeast out-of-range'],
    ],
    ['half an atLeast', withRule({ ...AT_LEAST, atLeast: 1.5 }), ['/rules/0/atLeast wrong-type']],
    ['an atLeast as text', withRule({ ...AT_LEAST, atLeast: '1' }), ['/rules/0/atLeast wrong-type']],
    ['an atLeast on ALL', withRule({ ...ALL, atLeast: 1 }), ['/rules/0/atLeast not-allowed']],
    ['a chain on ALL', withRule({ ...ALL, chainId: 1 }), ['/rules/0/chainId not-allowed']],
    ['rules on ERC20', withRule({ ...ERC20, roleId: 'r', rules: [LEAF] }), ['/rules/0/rules not-allowed']],
    [
      'an amount on CONTRACT',
      withRule({
        ...ERC20,
        type: 'CONTRACT',
        function: 'function f() view returns (bool)',
        roleId: 'r',
        minToken: '1',
      }),
      ['/rules/0/minToken not-allowed'],
    ],
    [
      'a function on ERC20',
      withRule({ ...ERC20, roleId: 'r', function: 'x' }),
      ['/rules/0/function not-allowed'],
    ],
    ['an unknown member of a composed rule', withRule({ ...ALL, and: [] }), ['/rules/0/and unknown-member']],
    [
      'no contract inside',
      withRule({ ...ALL, rules: [{ ...ERC20, contractAddress: undefined }] }),
      ['/rules/0/rules/0/contractAddress required'],
    ],
    [
      'a contract on NATIVE inside',
      withRule({ ...ALL, rules: [{ ...ERC20, type: 'NATIVE' }] }),
      ['/rules/0/rules/0/contractAddress not-allowed'],
    ],
    [
      'zero inside',
      withRule({ ...ALL, rules: [LEAF, LEAF, { ...LEAF, minToken: '0' }] }),
      ['/rules/0/rules/2/minToken min-token-zero'],
    ],
    [
      'an unsupported chain inside',
      withRule({ ...ALL, rules: [{ ...LEAF, chainId: 5 }] }),
      ['/rules/0/rules/0/chainId chain-unsupported'],
    ],
    [
      'composed rules 5 deep',
      withRule({ ...nested(5), roleId: 'r' }),
      ['/rules/0/rules/0/rules/0/rules/0/rules/0 too-deep'],
    ],
    [
      '101 rules, those inside counted',
      withRule({ ...ALL, rules: Array(100).fill(LEAF) }),
      ['/rules too-many'],
    ],
    ['both account and accounts', check({ accounts: [ACCOUNT] }), ['/accounts not-allowed']],
    ['neither account nor accounts', { rules: check({}).rules }, ['/account required']],
    ['no wallet', wallets({ accounts: [] }), ['/accounts too-short']],
    ['17 wallets', wallets({ accounts: addresses(17) }), ['/accounts too-many']],
    [
      'a wallet twice',
      wallets({ accounts: [ACCOUNT, OTHER, ACCOUNT.toLowerCase()] }),
      ['/accounts/2 repeated'],
    ],
    [
      'an ENS name among wallets',
      wallets({ accounts: [OTHER, 'a.eth'] }),
      ['/accounts/1 account-format-unsupported'],
    ],
    ['a number among wallets', wallets({ accounts: [1] }), ['/accounts/0 wrong-type']],
    ['one wallet as accounts', wallets({ accounts: ACCOUNT }), ['/accounts wrong-type']],
    ['17 vaults', check({ vaults: addresses(17) }), ['/vaults too-many']],
    ['a malformed vault', check({ vaults: ['x'] }), ['/vaults/0 malformed']],
    ['explain as text', check({ explain: 'yes' }), ['/explain wrong-type']],
    ['a validity without a proof', check({ proofSeconds: 60 }), ['/proofSeconds not-allowed']],
    ['a validity of no proof', check({ proof: false, proofSeconds: 60 }), ['/proofSeconds not-allowed']],
    ['too short a validity', check({ proof: true, proofSeconds: 29 }), ['/proofSeconds out-of-range']],
    ['too long a validity', check({ proof: true, proofSeconds: 86_401 }), ['/proofSeconds out-of-range']],
    ['an algorithm without a proof', check({ proofAlg: 'EdDSA' }), ['/proofAlg not-allowed']],
    [
      'an algorithm that is not offered',
      check({ proof: true, proofAlg: 'RS256' }),
      ['/proofAlg not-a-choice'],
    ],
    ['a proof as text', check({ proof: 'yes' }), ['/proof wrong-type']],
    [
      'more minimum blocks than a check can have chains',
      check({ consistency: { minBlock: Object.fromEntries(Array(1_001).fill(1).entries()) } }),
      ['/consistency/minBlock too-many'],
    ],
    [
      'a snapshot of an unnamed chain',
      check({ consistency: { atBlock: { '10': 1 } } }),
      ['/consistency/atBlock/10 chain-not-in-rules'],
    ],
    [
      'a snapshot before the first block',
      check({ consistency: { atBlock: { '1': -1 } } }),
      ['/consistency/atBlock/1 out-of-range'],
    ],
    [
      'a snapshot and a minimum of one chain',
      check({ consistency: { atBlock: { '1': 1 }, minBlock: { '1': 1 } } }),
      ['/consistency/atBlock/1 not-allowed'],
    ],
    [
      'a snapshot and a tag',
      check({ consistency: { atBlock: { '1': 1 }, blockTag: 'safe' } }),
      ['/consistency/atBlock not-allowed'],
    ],
    ['both rules and a rule set', check({ ruleSet: 'vip' }), ['/ruleSet not-allowed']],
    ['an unknown rule set', { account: ACCOUNT, ruleSet: 'vip' }, ['/ruleSet rule-set-unknown']],
    ['a number for a rule set', { account: ACCOUNT, ruleSet: 7 }, ['/ruleSet wrong-type']],
    ['neither rules nor a rule set', { account: ACCOUNT }, ['/rules required']],
  ])('with %s has a fault with its pointer', (_, body, faults) => expect(faultsOf(body)).toEqual(faults));

  it('is refused by its depth however deep its rules nest', () => {
    const [begin, end] = ['{"type":"ANY","rules":[', ']}'];
    const deep = `${begin.repeat(10_000)}${JSON.stringify(LEAF)}${end.repeat(10_000)}`;
    const rule = deep.replace('{', '{"roleId":"r",');
    const validation = validateCheck(JSON.parse(`{"account":"${ACCOUNT}","rules":[${rule}]}`), RULES);
    expect(validation.ok || validation.faults.map(({ code }) => code)).toEqual(['too-deep']);
  });

  it('gets all of its faults at once', () => {
    const body = {
      accounts: [ACCOUNT, ACCOUNT],
      vaults: ['x'],
      rules: [
        { ...nested(6), roleId: 'r' },
        { ...ALL, rules: [{ ...LEAF, roleId: 'x' }, { ...ERC20, minToken: '1e3' }, { type: 'NOT' }] },
        { ...AT_LEAST, atLeast: 9 },
      ],
      proofSeconds: 1,
      consistency: { atBlock: { '1': 1 }, minBlock: { '1': 1 } },
    };
    expect(faultsOf(body)).toEqual([
      '/accounts/1 repeated',
      '/consistency/atBlock/1 not-allowed',
      '/proofSeconds not-allowed',
      '/proofSeconds out-of-range',
      '/rules/0/rules/0/rules/0/rules/0/rules/0 too-deep',
      '/rules/1/rules/0/roleId not-allowed',
      '/rules/1/rules/1/minToken malformed',
      '/rules/1/rules/2/type rule-type-unsupported',
      '/rules/2/atLeast out-of-range',
      '/vaults/0 malformed',
    ]);
  });

  it('names the member, the fault and the expected value in every detail', () => {
    const details = detailsOf({
      account: ACCOUNT,
      accounts: [OTHER, OTHER],
      rules: [
        {
          ...ALL,
          rules: [
            { ...LEAF, roleId: 'x' },
            { type: 'ERC721', chainId: 1 },
          ],
        },
        { ...AT_LEAST, atLeast: 9 },
        { ...LEAF, roleId: 'r', tokenId: '1', type: 'NATIVE', contractAddress: TOKEN },
        { ...ERC20, roleId: 'r', function: 'x' },
        { type: 'XOR', roleId: 'r' },
      ],
    });
    expect(details).toEqual(
      expect.arrayContaining([
        '/accounts is not allowed beside account; send one of the two.',
        '/accounts/1 repeats /accounts/0; list each wallet once.',
        '/rules/0/rules/0/roleId is not allowed inside of a composed rule: the outermost rule names the role.',
        '/rules/0/rules/1/contractAddress is required for ERC721.',
        '/rules/1/atLeast must be at most 2, the number of rules inside.',
        '/rules/2/contractAddress is not allowed for NATIVE: a native balance has no contract.',
        '/rules/2/tokenId is not allowed for NATIVE, which has no token ids.',
        '/rules/3/function is not allowed for ERC20.',
        '/rules/4/type must be one of ERC20, ERC721, ERC1155, NATIVE, CONTRACT, SUM, ALL, ANY, NONE, AT_LEAST.',
      ]),
    );
  });
});

describe('a check of a stored rule set', () => {
  const stored = aRuleSet('app_1', 'vip', {
    rulesVersion: 3,
    rules: [{ type: 'NATIVE', chainId: 1, roleId: 'r', name: 'a label' }],
    onUndetermined: 'deny',
  });
  const body = { account: ACCOUNT, ruleSet: 'vip' };

  it('has the rules and the policy of the set', () => {
    expect(validCheck(body, { ...RULES, stored })).toMatchObject({
      rules: [{ ...LEAF, roleId: 'r', minToken: '1' }],
      onUndetermined: 'deny',
      ruleSet: { id: 'vip', version: 3, digest: stored.digest },
    });
  });

  it('overrides the policy of the set by its own', () => {
    expect(validCheck({ ...body, onUndetermined: 'omit' }, { ...RULES, stored }).onUndetermined).toBe('omit');
  });

  it('is the same check after the set has changed', () => {
    const changed = aRuleSet('app_1', 'vip', { ...stored, rulesVersion: 4, onUndetermined: 'omit' });
    expect(validCheck(body, { ...RULES, stored: changed }).canonical()).toBe(
      validCheck(body, { ...RULES, stored }).canonical(),
    );
  });

  it('lists the faults of a set under the name of the set', () => {
    const rules = Array(101).fill(stored.rules[0]);
    expect(faultsOf(body, { ...RULES, stored: { ...stored, rules } })).toEqual(['/ruleSet too-many']);
    expect(faultsOf(body, { ...RULES, chainIds: new Set([10]), stored })).toEqual([
      '/ruleSet chain-unsupported',
    ]);
  });
});
