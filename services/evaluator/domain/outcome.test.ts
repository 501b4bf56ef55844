import fc from 'fast-check';
import type { Condition, Rule } from '#shared/contracts/rules/rule.ts';
import { judgeContextOf, judgeRules, type Verdict } from './judge-rules.ts';
import type { Outcome } from './outcome.ts';
import { makePlanner } from './plan-reads.ts';
import { failed, type Read, type Reading } from './read.ts';

const ACCOUNT = `0x${'aa'.repeat(20)}`;
const chains = { delegateRegistry: () => `0x${'dd'.repeat(20)}`, nativeDecimals: () => 18 };

/** A leaf by the place of its contract, or a node over others. */
type Tree =
  | { readonly leaf: Outcome }
  | { readonly type: string; readonly min: number; readonly inside: Tree[] };

const aLeaf = fc.constantFrom<Outcome>('granted', 'denied', 'undetermined').map((leaf): Tree => ({ leaf }));
const nodeOf = (inside: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> =>
  fc
    .record({
      type: fc.constantFrom('ALL', 'ANY', 'NONE', 'AT_LEAST'),
      inside: fc.array(inside, { minLength: 1, maxLength: 4 }),
      share: fc.integer({ min: 0, max: 3 }),
    })
    .map(({ type, inside: trees, share }) => ({ type, inside: trees, min: 1 + (share % trees.length) }));
const aTree = [1, 2, 3].reduce(
  (below) => fc.oneof(aLeaf, nodeOf(below)),
  nodeOf(aLeaf) as fc.Arbitrary<Tree>,
);

/** The rule of a tree, and the reading of each leaf: contract n is the n-th leaf in the order of
 * the document. */
function ruleOf(tree: Tree, leaves: Outcome[]): Condition {
  if ('leaf' in tree) {
    leaves.push(tree.leaf);
    const contractAddress = `0x${leaves.length.toString(16).padStart(40, '0')}`;
    return { type: 'ERC721', chainId: leaves.length, contractAddress, minToken: '1' };
  }
  const rules = tree.inside.map((each) => ruleOf(each, leaves));
  const type = tree.type as 'ALL' | 'ANY' | 'NONE' | 'AT_LEAST';
  return { type, rules, ...(type === 'AT_LEAST' ? { atLeast: tree.min } : {}) };
}

function judge(tree: Tree): Verdict | undefined {
  const leaves: Outcome[] = [];
  const rule = { ...ruleOf(tree, leaves), roleId: 'r' } as Rule;
  const plan = makePlanner([rule], chains)({ account: ACCOUNT });
  if ('fault' in plan) throw new Error(plan.fault);
  const readings = new Map<Read, Reading>();
  for (const read of [...plan.reads.values()].flat()) {
    const leaf = leaves[read.chainId - 1];
    const value = leaf === 'granted' ? 1n : 0n;
    readings.set(read, leaf === 'undetermined' ? failed('rpc-timeout') : { ok: true, value });
  }
  return judgeRules(plan.needs, judgeContextOf(readings))[0];
}

// The oracle: truth tables of strong Kleene logic over 0 (denied), 1 (undetermined) and 2
// (granted).
const RANK = { denied: 0, undetermined: 1, granted: 2 } as const;
const NEGATION = [2, 1, 0];
const AND = [
  [0, 0, 0],
  [0, 1, 1],
  [0, 1, 2],
];
const OR = [
  [0, 1, 2],
  [1, 1, 2],
  [2, 2, 2],
];
const look = (table: readonly (readonly number[])[], a: number, b: number): number => table[a]?.[b] ?? -1;

/** At least `min` of the list: the first is and `min - 1` of the rest are, or `min` of the rest
 * are. */
function threshold(min: number, [first, ...rest]: readonly number[]): number {
  if (min === 0) return 2;
  if (first === undefined) return 0;
  return look(OR, look(AND, first, threshold(min - 1, rest)), threshold(min, rest));
}

function truth(tree: Tree): number {
  if ('leaf' in tree) return RANK[tree.leaf];
  const inside = tree.inside.map(truth);
  if (tree.type === 'ALL') return inside.reduce((a, b) => look(AND, a, b), 2);
  if (tree.type === 'ANY') return inside.reduce((a, b) => look(OR, a, b), 0);
  if (tree.type === 'NONE') return NEGATION[inside.reduce((a, b) => look(OR, a, b), 0)] ?? -1;
  return threshold(tree.min, inside);
}

/** The pointers of all unreadable leaves whose enclosing rules are all open too, in document
 * order. */
function openLeaves(tree: Tree, path: string): string[] {
  if (truth(tree) !== 1) return [];
  if ('leaf' in tree) return [path];
  return tree.inside.flatMap((each, index) => openLeaves(each, `${path}/rules/${index}`));
}

test('judges 20 000 random trees as truth tables do, and names the first rule that left one open', () => {
  const seen = new Map<Outcome, number>();
  fc.assert(
    fc.property(aTree, (tree) => {
      const verdict = judge(tree);
      expect(verdict && RANK[verdict.outcome]).toBe(truth(tree));
      if (verdict === undefined) return;
      seen.set(verdict.outcome, (seen.get(verdict.outcome) ?? 0) + 1);
      const path = verdict.outcome === 'undetermined' ? verdict.open?.path : undefined;
      expect(path).toBe('leaf' in tree ? undefined : openLeaves(tree, '')[0]);
    }),
    { numRuns: 20_000 },
  );
  expect([...seen.keys()].sort()).toEqual(['denied', 'granted', 'undetermined']);
});

test('names the chain and the contract of the rule that left it open, wherever it is nested', () => {
  const tree: Tree = {
    type: 'ALL',
    min: 1,
    inside: [
      { type: 'ANY', min: 1, inside: [{ leaf: 'undetermined' }, { leaf: 'granted' }] },
      { type: 'NONE', min: 1, inside: [{ leaf: 'denied' }, { leaf: 'undetermined' }] },
    ],
  };
  expect(judge(tree)).toMatchObject({
    outcome: 'undetermined',
    code: 'rpc-timeout',
    open: { path: '/rules/1/rules/1', chainId: 4, contractAddress: `0x${'4'.padStart(40, '0')}` },
  });
});
