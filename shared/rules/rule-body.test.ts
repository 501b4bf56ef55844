import { RuleBody } from './rule-body.ts';

const TOKEN = '0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359';
const named = { chainId: 1, roleId: 'r' } as const;

/** Each line is refused by the type checker too: without its error `tsc` fails. */
const REFUSED: readonly RuleBody[] = [
  // @ts-expect-error: an ERC20 has a contract.
  { type: 'ERC20', ...named },
  // @ts-expect-error: an ERC1155 has token ids.
  { type: 'ERC1155', ...named, contractAddress: TOKEN },
  // @ts-expect-error: a native balance has no contract.
  { type: 'NATIVE', ...named, contractAddress: TOKEN },
  // @ts-expect-error: there is no such type.
  { type: 'ERC404', ...named, contractAddress: TOKEN },
  // @ts-expect-error: the outermost rule alone names a role.
  { type: 'ALL', roleId: 'r', rules: [{ type: 'NATIVE', chainId: 1, roleId: 'r' }] },
  // @ts-expect-error: how many are needed is said.
  { type: 'AT_LEAST', roleId: 'r', rules: [{ type: 'NATIVE', chainId: 1 }] },
  // @ts-expect-error: a contract rule needs a function.
  { type: 'CONTRACT', ...named, contractAddress: TOKEN },
];

const ACCEPTED: readonly RuleBody[] = [
  { type: 'ERC20', ...named, contractAddress: TOKEN },
  { type: 'NATIVE', ...named, minToken: '1.5' },
  { type: 'ANY', roleId: 'r', rules: [{ type: 'NONE', rules: [{ type: 'NATIVE', chainId: 1 }] }] },
];

test('the types and the schema of a rule refuse and accept the same', () => {
  expect(REFUSED.filter((rule) => RuleBody.safeParse(rule).success)).toEqual([]);
  expect(ACCEPTED.filter((rule) => !RuleBody.safeParse(rule).success)).toEqual([]);
});
