import { aSignIn } from '../../../test/support/builders/a-sign-in.ts';
import { validationRules } from '../../../test/support/validation-rules.ts';
import { validateCheck } from './validate-check.ts';

const TOKEN = '0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359';
const RULES = validationRules([1], {
  isEnterprise: true,
  callback: { allowHttp: true, allowedCidrs: [] },
});
const ODD: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 1e300, '', '\uD800', [], [[]], {}],
  // What `String()` cannot turn into text.
  { toString: 1 },
  { valueOf: null, toString: null },
  { length: 3 },
  JSON.parse(`${'['.repeat(4_000)}${']'.repeat(4_000)}`),
  JSON.parse('{"__proto__":{"x":1}}'),
];

type Path = readonly (string | number)[];

const isParent = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** The places of all values, in order. */
const pathsOf = (value: unknown, path: Path = []): Path[] => [
  path,
  ...(isParent(value)
    ? Object.entries(value).flatMap(([name, child]) => pathsOf(child, [...path, name]))
    : []),
];

function withValue(body: unknown, path: Path, value: unknown): unknown {
  if (path.length === 0) return value;
  const copy = structuredClone(body);
  const parent = path.slice(0, -1).reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], copy);
  (parent as Record<string, unknown>)[path.at(-1) as string] = value;
  return copy;
}

async function fullBodies(): Promise<readonly object[]> {
  const token = { type: 'ERC20', chainId: 1, contractAddress: TOKEN };
  const rules = [
    { type: 'NATIVE', chainId: 1, roleId: 'a', minToken: '1', name: 'x', description: 'y' },
    { ...token, type: 'ERC1155', roleId: 'b', tokenId: '7', minToken: '1', maxToken: '2' },
    {
      ...{ type: 'ANY', roleId: 'c', rules: [{ ...token, minToken: '1' }] },
    },
    {
      type: 'SUM',
      roleId: 'd',
      minToken: '1',
      rules: [
        { ...token, per: '2' },
        { type: 'NATIVE', chainId: 1 },
      ],
    },
    {
      ...{ ...token, type: 'CONTRACT', roleId: 'e', function: 'function f(address) view returns (uint256)' },
      ...{ args: ['$account'], operator: 'gte', value: '1', onRevert: 'deny', wallets: 'any' },
    },
  ];
  const common = { rules, onUndetermined: 'omit', explain: true, proof: true, proofSeconds: 300 };
  return [
    {
      ...{ ...common, account: TOKEN, vaults: [TOKEN], proofAlg: 'ES256', async: true },
      ...{
        signIn: [await aSignIn({ nonce: 'a1b2c3d4', chainId: 1 })],
        consistency: { blockTag: 'latest', minBlock: { '1': 5 } },
      },
    },
    {
      ...{ ...common, accounts: [TOKEN], consistency: { atBlock: { '1': 5 } } },
      callbackUrl: 'https://hooks.example.com/x',
    },
  ];
}

test('whatever JSON stands at any place of a body, it is judged, and no bug is met', async () => {
  let count = 0;
  for (const body of await fullBodies())
    for (const path of pathsOf(body))
      for (const value of ODD) {
        const odd = withValue(body, path, value);
        const judged = validateCheck(odd, RULES);
        if (!judged.ok) expect(judged.faults.length).toBeGreaterThan(0);
        count += 1;
      }
  expect(count).toBeGreaterThan(1_000);
});
