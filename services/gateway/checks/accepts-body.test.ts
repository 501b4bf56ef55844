import fc from 'fast-check';
import { acceptsBy } from '#shared/rules/accepts.ts';
import { CheckBody } from './check-body.ts';

const isCommonBody = acceptsBy(CheckBody);

const ADDRESSES = [
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0x0000000000000000000000000000000000000001',
  '0x0000000000000000000000000000000000000000',
  '0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d358',
  'vitalik.eth',
];
const NASTY: unknown[] = [undefined, null, '', '\ud800', 'x'.repeat(129), 'x'.repeat(257), '😀'.repeat(128)];
const OTHERS: unknown[] = [0, -1, 1.5, 2 ** 53, Number.NaN, true, [], {}, '1', '01', '1.', '1e3', '0x'];

const anything = fc.oneof(fc.constantFrom(...NASTY), fc.constantFrom(...OTHERS));
/** Mostly right, so that many bodies are accepted. */
const mostly = (right: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 30, arbitrary: right }, { weight: 1, arbitrary: anything });
const members = (
  required: Record<string, fc.Arbitrary<unknown>>,
  others: Record<string, fc.Arbitrary<unknown>>,
) => fc.record({ ...required, ...others }, { requiredKeys: Object.keys(required) });

const AMOUNTS = {
  minToken: mostly(fc.constantFrom('1', '0', '10.50')),
  maxToken: mostly(fc.constantFrom('2', '0.0')),
};
const anAddress = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(ADDRESSES[0], ADDRESSES[1], ADDRESSES[3]) },
  { weight: 1, arbitrary: fc.constantFrom(...ADDRESSES) },
  { weight: 1, arbitrary: anything },
);
/** Mostly with the members of its type. */
const aRuleOf = (type: string, required: Record<string, fc.Arbitrary<unknown>>, others = {}) =>
  members(
    {
      type: mostly(fc.constant(type)),
      chainId: mostly(fc.integer({ min: 1, max: 9 })),
      roleId: mostly(fc.string({ minLength: 1, maxLength: 128, unit: 'binary' })),
      ...required,
    },
    { ...AMOUNTS, name: mostly(fc.string()), description: mostly(fc.string()), ...others },
  );
const tokenId = mostly(fc.constantFrom('1,2', 'x'));
const aCall = {
  contractAddress: anAddress,
  function: mostly(fc.constant('function levels(address) view returns (uint256)')),
};
const someOf = (entry: fc.Arbitrary<unknown>) =>
  mostly(fc.array(mostly(entry), { minLength: 1, maxLength: 2 }));
/** A rule inside of a composed one, or a term. */
const anInner = members(
  { type: mostly(fc.constantFrom('NATIVE', 'ERC777')), chainId: mostly(fc.constant(1)) },
  { name: mostly(fc.string()), minToken: mostly(fc.constant('2')), times: mostly(fc.constant('1.5')) },
);
const aComposed = (type: string, others: Record<string, fc.Arbitrary<unknown>> = {}) =>
  members(
    { type: fc.constant(type), roleId: fc.constant('r'), rules: someOf(anInner), ...others },
    { description: mostly(fc.string()), onRevert: mostly(fc.constant('deny')) },
  );
const aRule = fc.oneof(
  aRuleOf('NATIVE', {}),
  aRuleOf('ERC20', { contractAddress: anAddress }),
  aRuleOf('ERC721', { contractAddress: anAddress }, { tokenId }),
  aRuleOf('ERC1155', { contractAddress: anAddress, tokenId }),
  members(
    { type: fc.constant('CONTRACT'), chainId: fc.constant(1), roleId: fc.constant('r'), ...aCall },
    {
      args: mostly(fc.array(mostly(fc.string()), { maxLength: 9 })),
      returns: mostly(fc.string()),
      operator: mostly(fc.constantFrom('eq', 'gte')),
      value: mostly(fc.string()),
      onRevert: mostly(fc.constantFrom('deny', 'undetermined')),
      wallets: mostly(fc.constantFrom('any', 'all')),
      decimals: anything,
    },
  ),
  aComposed('ANY'),
  aComposed('AT_LEAST', { atLeast: mostly(fc.integer({ min: 1, max: 3 })) }),
  aComposed('SUM', { minToken: mostly(fc.constant('1')) }),
  members(
    { type: fc.constantFrom('ERC20', 'ERC721', 'ERC1155', 'NATIVE', 'ERC777', 'CONTRACT', 'ALL') },
    {
      chainId: fc.constant(1),
      roleId: fc.constant('r'),
      contractAddress: anAddress,
      tokenId,
      rules: anything,
    },
  ),
);
const aBody = members(
  {
    rules: mostly(fc.array(mostly(aRule), { minLength: 1, maxLength: 2 })),
  },
  {
    account: anAddress,
    accounts: mostly(fc.array(anAddress, { maxLength: 17 })),
    vaults: mostly(fc.array(anAddress, { maxLength: 17 })),
    ruleSet: mostly(fc.string()),
    callbackUrl: mostly(fc.webUrl()),
    async: mostly(fc.boolean()),
    explain: mostly(fc.boolean()),
    onUndetermined: mostly(fc.constantFrom('omit', 'deny', 'fail')),
    consistency: fc.constantFrom({}, { blockTag: 'safe' }),
    proof: mostly(fc.boolean()),
    proofSeconds: mostly(fc.integer({ min: 29, max: 86_401 })),
    proofAlg: mostly(fc.constantFrom('EdDSA', 'ES256')),
  },
);

describe('the fast path of validation', () => {
  it('accepts only bodies that the schema accepts unchanged', () => {
    let acceptedCount = 0;
    fc.assert(
      fc.property(aBody, (body) => {
        if (!isCommonBody(body)) return;
        acceptedCount += 1;
        expect(CheckBody.parse(body)).toEqual(body);
      }),
      { numRuns: 3_000 },
    );
    // 340 on average, with a standard deviation of 17.
    expect(acceptedCount).toBeGreaterThan(200);
  });

  it('accepts common bodies', () => {
    const rule = { type: 'ERC20', chainId: 1, contractAddress: ADDRESSES[0], roleId: 'a', minToken: '1.5' };
    expect(isCommonBody({ account: ADDRESSES[0], rules: [rule], async: true })).toBe(true);
    expect(
      isCommonBody({ account: ADDRESSES[0], rules: [{ ...rule, type: 'ERC1155', tokenId: '1', name: 'n' }] }),
    ).toBe(true);
    expect(
      isCommonBody({ accounts: ADDRESSES.slice(0, 2), vaults: [ADDRESSES[3]], ruleSet: 'holders' }),
    ).toBe(true);
  });

  it('accepts rules inside of rules, and leaves records and weights to the schema', () => {
    const holding = { type: 'NATIVE', chainId: 1 };
    const composed = { type: 'ANY', rules: [{ type: 'AT_LEAST', atLeast: 1, rules: [holding] }] };
    const bodyOf = (rule: object, more = {}) => ({
      account: ADDRESSES[0],
      rules: [{ ...rule, roleId: 'a' }],
      ...more,
    });
    expect(isCommonBody(bodyOf(composed))).toBe(true);
    expect(isCommonBody(bodyOf({ type: 'SUM', rules: [{ ...holding, times: '1.5' }] }))).toBe(true);
    expect(isCommonBody(bodyOf({ type: 'SUM', rules: [{ ...holding, times: {} }] }))).toBe(false);
    expect(isCommonBody(bodyOf(holding, { consistency: { minBlock: { '1': 1 } } }))).toBe(false);
    expect(isCommonBody(bodyOf({ type: 'ANY', rules: [] }))).toBe(false);
  });

  it('leaves unknown members and members of the prototype to the schema', () => {
    const body = { account: ADDRESSES[0], rules: [{ type: 'NATIVE', chainId: 1, roleId: 'a' }] };
    for (const member of ['__proto__', 'constructor', 'toString', 'extra'])
      expect(isCommonBody(JSON.parse(JSON.stringify(body).replace('{', `{"${member}":1,`)))).toBe(false);
    expect(isCommonBody(JSON.parse('{"__proto__":{"account":"x","rules":[]}}'))).toBe(false);
  });
});
