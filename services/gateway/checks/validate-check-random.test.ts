import fc from 'fast-check';
import { Rule } from '#shared/contracts/rules/rule.ts';
import { validationRules } from '../../../test/support/validation-rules.ts';
import { validateCheck } from './validate-check.ts';

const RULES = validationRules();
const TOKEN = '0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359';

/** Values of members, right and wrong ones, each of which may be used for any member. */
const VALUES: unknown[] = [
  ...[
    null,
    true,
    0,
    1,
    2,
    -1,
    1.5,
    '',
    '0',
    '1',
    '2',
    '1.5',
    '1-3',
    '$account',
    'eq',
    'gte',
    'deny',
    'all',
    TOKEN,
  ],
  ...['ERC20', 'ERC721', 'ERC1155', 'NATIVE', 'CONTRACT', 'ALL', 'AT_LEAST', 'XOR', '\ud800'],
  ...['function f(address a) view returns (uint256 n)', 'function f() view returns (bool)', 'function ('],
  ...[[], {}, ['$account'], [TOKEN], [TOKEN, TOKEN], ['7', 7], { '1': 5 }, { '5': 5 }, { __proto__: null }],
];
const value = fc.constantFrom(...VALUES);
const MEMBERS = [
  ...['type', 'chainId', 'contractAddress', 'roleId', 'minToken', 'maxToken', 'tokenId', 'function', 'args'],
  ...[
    'returns',
    'operator',
    'value',
    'onRevert',
    'wallets',
    'atLeast',
    'rules',
    'name',
    '__proto__',
    'toString',
  ],
];
const BASES = [
  { type: 'NATIVE', chainId: 1 },
  { type: 'ERC20', chainId: 1, contractAddress: TOKEN },
  { type: 'ERC1155', chainId: 1, contractAddress: TOKEN, tokenId: '1-2' },
  {
    ...{ type: 'CONTRACT', chainId: 1, contractAddress: TOKEN, args: ['$account'] },
    ...{ function: 'function f(address) view returns (uint8 a, bool b)', returns: 'b' },
  },
];
type Entries = readonly (readonly [string, unknown])[];
/** By definition and not by assignment, which would set a prototype instead of a member. */
const withMembers = (base: object, changes: Entries): object =>
  Object.defineProperties(
    { ...base },
    Object.fromEntries(
      changes.map(([name, to]) => [
        `${name}`,
        { value: to, enumerable: true, configurable: true, writable: true },
      ]),
    ),
  );
const changes = fc.array(fc.tuple(fc.constantFrom(...MEMBERS), value), { maxLength: 2 });
const sometimes = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Entries>([]) },
  { weight: 1, arbitrary: changes },
);
const leaf = fc.tuple(fc.constantFrom(...BASES), sometimes).map(([base, by]) => withMembers(base, by));
const { rule } = fc.letrec((tie) => ({
  rule: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, tie('composed')),
  composed: fc
    .tuple(
      fc.constantFrom('ALL', 'ANY', 'NONE', 'AT_LEAST'),
      fc.array(fc.oneof({ weight: 20, arbitrary: tie('rule') }, { weight: 1, arbitrary: value }), {
        minLength: 1,
        maxLength: 3,
      }),
      sometimes,
    )
    .map(([type, rules, by]) =>
      withMembers({ type, rules, ...(type === 'AT_LEAST' ? { atLeast: 1 } : {}) }, by),
    ),
}));
const BODY_MEMBERS = [
  'account',
  'accounts',
  'vaults',
  'consistency',
  'explain',
  'proof',
  'proofSeconds',
  'proofAlg',
  'ruleSet',
];
const body = fc
  .tuple(
    fc.array(rule, { minLength: 1, maxLength: 3 }),
    fc.array(fc.tuple(fc.constantFrom(...BODY_MEMBERS), value), { maxLength: 1 }),
  )
  .map(([rules, by]) =>
    withMembers({ account: TOKEN, rules: rules.map((each) => ({ ...(each as object), roleId: 'r' })) }, by),
  );

test('a body is either refused with faults that name a place, or becomes rules that the evaluator can read', () => {
  const counts = { accepted: 0, refused: 0 };
  fc.assert(
    fc.property(body, (value) => {
      const validation = validateCheck(JSON.parse(JSON.stringify(value)), RULES);
      if (!validation.ok) {
        counts.refused += 1;
        expect(validation.faults.length).toBeGreaterThan(0);
        for (const { pointer, detail } of validation.faults)
          expect(detail.startsWith(pointer || 'The body')).toBe(true);
        return;
      }
      counts.accepted += 1;
      expect(validation.value.rules.map((each) => Rule.parse(each))).toEqual(validation.value.rules);
      expect(typeof validation.value.canonical()).toBe('string');
    }),
    { numRuns: 3_000 },
  );
  expect(counts.accepted).toBeGreaterThan(300);
  expect(counts.refused).toBeGreaterThan(300);
});
