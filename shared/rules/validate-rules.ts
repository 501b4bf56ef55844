import { type Fault, faultAt, pointerOf } from '../contracts/fault.ts';
import { ComposedRuleType } from '../contracts/rules/rule.ts';

/** Depth of nested composed rules; the simple rules inside the innermost are not counted. */
const COMPOSED_DEPTH_MAX = 4;

export type Members = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A rule, or a term of a sum, as it was sent, and where: `['rules', 0, 'rules', 2]`. */
type PlacedRule = {
  readonly rule: unknown;
  readonly path: readonly PropertyKey[];
};

/** The rules of a body, those inside of composed ones and sums too, as far as they may be looked
 * at. */
export type PlacedRules = {
  readonly rules: readonly PlacedRule[];
  /** The pointers of composed rules that are nested too deep: nothing inside of them is looked
   * at. */
  readonly tooDeep: readonly string[];
  readonly hasTooMany: boolean;
};

const COMPOSED: ReadonlySet<unknown> = new Set(ComposedRuleType.options);
type WithRules = Members & { readonly rules: readonly unknown[] };
const isComposedBody = (rule: unknown): rule is WithRules =>
  isObject(rule) && COMPOSED.has(rule['type']) && Array.isArray(rule['rules']);
const isSumBody = (rule: unknown): rule is WithRules =>
  isObject(rule) && rule['type'] === 'SUM' && Array.isArray(rule['rules']);

const rulesOf = (body: unknown): readonly unknown[] => {
  const rules = isObject(body) ? body['rules'] : undefined;
  return Array.isArray(rules) ? rules : [];
};

/**
 * Finds the rules of a body of unknown content, and stops at the bounds: a hundred thousand rules
 * cost no more than one too many, and a rule nested a thousand times no more than one nested too
 * deep.
 *
 * @example
 * placeRules({ rules: [{ type: 'NONE', rules: [{ type: 'NATIVE' }] }] }, 100).rules.length; // 2
 */
export function placeRules(body: unknown, rulesMax: number): PlacedRules {
  const rules: PlacedRule[] = [];
  const tooDeep: string[] = [];
  const placeAll = (list: readonly unknown[], path: readonly PropertyKey[], depth: number): void => {
    for (const [index, rule] of list.entries()) {
      if (rules.length > rulesMax) return;
      const at = [...path, index];
      rules.push({ rule, path: at });
      // The terms of a sum have no rules.
      if (depth > COMPOSED_DEPTH_MAX) continue;
      if (isSumBody(rule)) placeAll(rule.rules, [...at, 'rules'], Infinity);
      if (!isComposedBody(rule)) continue;
      if (depth === COMPOSED_DEPTH_MAX) tooDeep.push(pointerOf(at));
      else placeAll(rule.rules, [...at, 'rules'], depth + 1);
    }
  };
  placeAll(rulesOf(body), ['rules'], 0);
  return { rules, tooDeep, hasTooMany: rules.length > rulesMax };
}

/** The body without the composed rules that are nested too deep, which no schema should descend
 * into. */
export function withoutTooDeep(body: unknown): unknown {
  const cut = (list: readonly unknown[], depth: number): unknown[] =>
    list.map((rule) => {
      if (!isComposedBody(rule)) return rule;
      return depth === COMPOSED_DEPTH_MAX ? undefined : { ...rule, rules: cut(rule.rules, depth + 1) };
    });
  return { ...(body as Members), rules: cut(rulesOf(body), 0) };
}

export function faultsOfBounds({ tooDeep, hasTooMany }: PlacedRules, rulesMax: number): Fault[] {
  if (hasTooMany) {
    const detail = `must have at most ${rulesMax} rules, those inside of composed rules counted too`;
    return [faultAt('/rules', 'too-many', detail)];
  }
  const detail = `is nested too deep: composed rules nest at most ${COMPOSED_DEPTH_MAX} deep`;
  return tooDeep.map((pointer) => faultAt(pointer, 'too-deep', detail));
}

const CHAINS_LISTED_MAX = 20;

/** The configured chains; `undefined` where they are not known, and every chain is accepted. */
export type ChainIds = ReadonlySet<number> | undefined;

/** Its detail is a predicate. */
export function faultOfChain(chainId: number, chainIds: ChainIds): Omit<Fault, 'pointer'> | undefined {
  if (chainIds === undefined || chainIds.has(chainId)) return undefined;
  const listed = [...chainIds].slice(0, CHAINS_LISTED_MAX).join(', ');
  const configured = `configured: ${listed}${chainIds.size > CHAINS_LISTED_MAX ? ', …' : ''}`;
  const detail = `names chain ${chainId}, which is not configured; ${configured}`;
  return { code: 'chain-unsupported', detail };
}

/**
 * The faults of rules whose chain is not configured.
 *
 * @param broken the pointers of members that are wrong by themselves
 */
export function faultsOfChains(
  { rules }: PlacedRules,
  broken: ReadonlySet<string>,
  chainIds: ChainIds,
): Fault[] {
  return rules.flatMap(({ rule, path }) => {
    const chainId = isObject(rule) ? rule['chainId'] : undefined;
    const fault = typeof chainId === 'number' ? faultOfChain(chainId, chainIds) : undefined;
    if (fault === undefined) return [];
    const at = pointerOf(path);
    const pointer = `${at}/chainId`;
    // The schema does not look at a rule that is nested too deep, nor at one of an unknown type.
    const isUnread = [at, pointer, `${at}/type`].some((each) => broken.has(each));
    return isUnread ? [] : [faultAt(pointer, fault.code, fault.detail)];
  });
}

export const chainsOf = ({ rules }: PlacedRules): ReadonlySet<string> =>
  new Set(
    rules.flatMap(({ rule }) => {
      const chainId = isObject(rule) ? rule['chainId'] : undefined;
      return typeof chainId === 'number' || typeof chainId === 'string' ? [String(chainId)] : [];
    }),
  );

/** The sums over several chains, which are read at one instant: where each is, and its chains in
 * decimal. */
export const sumsOverChains = ({ rules }: PlacedRules) =>
  rules.flatMap(({ rule, path }) => {
    if (!isSumBody(rule)) return [];
    const chains = new Set(
      rule.rules.flatMap((term) =>
        isObject(term) && typeof term['chainId'] === 'number' ? [String(term['chainId'])] : [],
      ),
    );
    return chains.size > 1 ? [{ pointer: pointerOf(path), chains }] : [];
  });
