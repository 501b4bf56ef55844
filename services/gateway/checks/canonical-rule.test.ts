import type { ConditionBody } from '#shared/rules/rule-body.ts';
import { canonicalRule } from './canonical-rule.ts';

const ADDRESS = '0x52908400098527886E0F7030069857D2E4169EE7';
const CALL: Extract<ConditionBody, { type: 'CONTRACT' }> = {
  type: 'CONTRACT',
  chainId: 1,
  contractAddress: ADDRESS,
  function:
    'function seat(address member, bytes4 kind, bytes data, string note) view returns (address owner, bytes4 kind)',
  args: [ADDRESS, '0xABCDEF01', '0xFF', 'Gold'],
  operator: 'eq',
  value: ADDRESS,
};
const lower = (text: string) => text.toLowerCase();
/** A rule inside of a composed one, so that nested rules are compared as well. */
const nested = (rule: ConditionBody): ConditionBody => ({
  type: 'ANY',
  rules: [{ type: 'NONE', rules: [rule] }],
});

describe('the canonical form of a view call', () => {
  it.each<[string, Partial<typeof CALL>]>([
    [
      'arguments of addresses and bytes in lower case',
      { args: [...(CALL.args ?? []).slice(0, 3).map(lower), 'Gold'] },
    ],
    ['an address to compare with in lower case', { value: lower(ADDRESS) }],
    ['the first output by its index', { returns: '0' }],
    ['the first output by its name', { returns: 'owner' }],
    ['the default of onRevert and of wallets', { onRevert: 'undetermined', wallets: 'any' }],
    ['a name and a description, which are ignored', { name: 'x', description: 'y' }],
  ])('is the same with %s', (_, changes) => {
    expect(canonicalRule({ ...CALL, ...changes })).toEqual(canonicalRule(CALL));
    expect(canonicalRule(nested({ ...CALL, ...changes }))).toEqual(canonicalRule(nested(CALL)));
  });

  it('is the same with the name and with the index of an output, and with its value in lower case', () => {
    expect(canonicalRule({ ...CALL, returns: 'kind', value: '0xAB000000' })).toEqual(
      canonicalRule({ ...CALL, returns: '1', value: '0xab000000' }),
    );
  });

  it('is the same with each path to an output of a tuple', () => {
    const lock = { ...CALL, function: 'function lockOf() view returns ((uint8 kind, uint64 end) lock)' };
    const [byName, byIndex, other] = ['lock.end', '0.1', 'lock.kind'].map((returns) =>
      canonicalRule({ ...lock, args: [], returns }),
    );
    expect(byIndex).toEqual(byName);
    expect(other).not.toEqual(byName);
  });

  it.each<[string, Partial<typeof CALL>]>([
    ['a text argument in lower case', { args: [...(CALL.args ?? []).slice(0, 3), 'gold'] }],
    ['another output', { returns: '1', value: '0xabcdef01' }],
    ['another function', { function: CALL.function.replace('seat', 'place') }],
  ])('is another with %s', (_, changes) => {
    expect(canonicalRule({ ...CALL, ...changes })).not.toEqual(canonicalRule(CALL));
  });

  it('keeps the texts of a function that cannot be parsed', () => {
    const noise = { ...CALL, function: 'noise', returns: 'x' };
    expect(canonicalRule(noise)).toMatchObject({ args: CALL.args, returns: 'x' });
  });
});
