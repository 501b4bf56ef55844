import { type Fault, pointerOf, valueAt } from '#shared/contracts/fault.ts';
import { ComposedRuleType } from '#shared/contracts/rules/rule.ts';
import { RULE_MEMBERS } from './rule-body.ts';
import { validateRule } from './validate-rule.ts';

/** Depth of nested composed rules; the simple rules inside the innermost are not counted. */
const COMPOSED_DEPTH_MAX = 4;

export type Members = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A rule as it was sent, and where: `['rules', 0, 'rules', 2]`. */
type PlacedRule = { readonly rule: unknown; readonly path: readonly PropertyKey[] };

/** The rules of a body, those inside of composed ones too, as far as they may be looked at. */
export type PlacedRules = {
  readonly rules: readonly PlacedRule[];
  /** The pointers of composed rules that are nested too deep: nothing inside of them is looked at. */
  readonly tooDeep: readonly string[];
  readonly hasTooMany: boolean;
};

const COMPOSED: ReadonlySet<unknown> = new Set(ComposedRuleType.options);
const isComposedBody = (rule: unknown): rule is Members & { readonly rules: readonly unknown[] } =>
  isObject(rule) && COMPOSED.has(rule['type']) && Array.isArray(rule['rules']);

const rulesOf = (body: unknown): readonly unknown[] => {
  const rules = isObject(body) ? body['rules'] : undefined;
  return Array.isArray(rules) ? rules : [];
};

/**
 * Finds the rules of a body of unknown content, and stops at the bounds: a hundred thousand rules cost no more than
 * one too many, and a rule nested a thousand times no more than one nested too deep.
 *
 * @example
 * placeRules({ rules: [{ type: 'NONE', rules: [{ type: 'NATIVE' }] }] }, 100).rules.length; // 2
 */
export function placeRules(body: unknown, rulesMax: number): PlacedRules {
  const rules: PlacedRule[] = [];
  const tooDeep: string[] = [];
  const place = (list: readonly unknown[], path: readonly PropertyKey[], depth: number): void => {
    for (const [index, rule] of list.entries()) {
      if (rules.length > rulesMax) return;
      const at = [...path, index];
      rules.push({ rule, path: at });
      if (!isComposedBody(rule)) continue;
      if (depth === COMPOSED_DEPTH_MAX) tooDeep.push(pointerOf(at));
      else place(rule.rules, [...at, 'rules'], depth + 1);
    }
  };
  place(rulesOf(body), ['rules'], 0);
  return { rules, tooDeep, hasTooMany: rules.length > rulesMax };
}

/** The body without the composed rules that are nested too deep, which no schema should descend into. */
export function withoutTooDeep(body: unknown): unknown {
  const cut = (list: readonly unknown[], depth: number): unknown[] =>
    list.map((rule) => {
      if (!isComposedBody(rule)) return rule;
      return depth === COMPOSED_DEPTH_MAX ? undefined : { ...rule, rules: cut(rule.rules, depth + 1) };
    });
  return { ...(body as Members), rules: cut(rulesOf(body), 0) };
}

/** The faults of bounds, as `placeRules` found them. */
export function faultsOfBounds({ tooDeep, hasTooMany }: PlacedRules, rulesMax: number): Fault[] {
  if (hasTooMany) {
    const detail = `must have at most ${rulesMax} rules, those inside of composed rules counted too`;
    return [{ pointer: '/rules', code: 'too-many', detail }];
  }
  const detail = `is nested too deep: composed rules nest at most ${COMPOSED_DEPTH_MAX} deep`;
  return tooDeep.map((pointer) => ({ pointer, code: 'too-deep', detail }));
}

/**
 * The faults of rules whose members are wrong only together.
 *
 * @param broken the pointers of members that are wrong by themselves: they are not looked at again
 */
export function faultsOfRules(
  { rules }: PlacedRules,
  broken: ReadonlySet<string>,
  chainIds: ReadonlySet<number>,
): Fault[] {
  return rules.flatMap(({ rule, path }) => {
    if (!isObject(rule)) return [];
    const at = (...members: readonly PropertyKey[]) => pointerOf([...path, ...members]);
    // The schema does not look at a rule of an unknown type, nor at a rule that is nested too deep.
    if (broken.size > 0 && (broken.has(at()) || broken.has(at('type')))) return [];
    const sound = broken.size === 0 ? rule : soundMembers(rule, (...members) => broken.has(at(...members)));
    const faults = validateRule(sound, new Set(Object.keys(rule)), chainIds);
    return faults.map(({ member, index, code, detail }) => ({
      pointer: index === undefined ? at(member) : at(member, index),
      code,
      detail,
    }));
  });
}

/** A list with a broken entry is not sound; nested rules are judged on their own. */
const soundMembers = (rule: Members, isBroken: (...path: readonly PropertyKey[]) => boolean): Members =>
  Object.fromEntries(
    Object.entries(rule).filter(
      ([member, value]) =>
        RULE_MEMBERS.has(member) &&
        !isBroken(member) &&
        (member === 'rules' || !Array.isArray(value) || !value.some((_, index) => isBroken(member, index))),
    ),
  );

/** The chains that the rules name, in decimal. */
export const chainsOf = ({ rules }: PlacedRules): ReadonlySet<string> =>
  new Set(
    rules.flatMap(({ rule }) => (isObject(rule) && 'chainId' in rule ? [String(rule['chainId'])] : [])),
  );

/** The type of the rule whose member is at a path; `undefined` if the path does not lead to a member of a rule. */
export function typeOfHolder(body: unknown, path: readonly PropertyKey[]): string | undefined {
  const holder = path.slice(0, -1);
  const isRule =
    holder.length > 0 &&
    holder.length % 2 === 0 &&
    holder.every((part, place) => (place % 2 === 0 ? part === 'rules' : typeof part === 'number'));
  const type = isRule ? (valueAt(body, holder) as Members | undefined)?.['type'] : undefined;
  return typeof type === 'string' ? type : undefined;
}

/** Why a rule must not have a member that rules of other types may have; `undefined` for a member of no type. */
export function describeForeignMember(type: string, path: readonly PropertyKey[]): string | undefined {
  const member = String(path.at(-1));
  if (!RULE_MEMBERS.has(member)) return undefined;
  if (member === 'roleId')
    return 'is not allowed inside of a composed rule: the outermost rule names the role';
  if (member === 'contractAddress' && type === 'NATIVE')
    return 'is not allowed for NATIVE: a native balance has no contract';
  if (member === 'tokenId') return `is not allowed for ${type}, which has no token ids`;
  return `is not allowed for ${type}`;
}
