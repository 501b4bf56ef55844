import { type Fault, pointerOf, valueAt } from '../contracts/fault.ts';
import {
  type AbiType,
  ACCOUNT,
  isInteger,
  judgeArgument,
  judgeValue,
  nameOfType,
} from '../contracts/rules/abi-type.ts';
import { ZERO_ADDRESS } from '../contracts/rules/address.ts';
import { ComposedRuleType } from '../contracts/rules/rule.ts';
import { parseTokenIds, TOKEN_IDS_MAX } from '../contracts/rules/token-ids.ts';
import {
  encodeCall,
  findOutput,
  parseViewFunction,
  type ViewFunction,
} from '../contracts/rules/view-function.ts';
import { compareAmounts, hasFraction, isZeroAmount } from './amount.ts';
import { type Place, RULE_MEMBERS } from './rule-body.ts';

/** Depth of nested composed rules; the simple rules inside the innermost are not counted. */
const COMPOSED_DEPTH_MAX = 4;

export type Members = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A rule, a term of a sum, or the weight of a term as it was sent, and where:
 * `['rules', 0, 'rules', 2, 'times']`. */
type PlacedRule = {
  readonly rule: unknown;
  readonly path: readonly PropertyKey[];
  readonly place: Place;
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
const isComposedBody = (rule: unknown): rule is Members & { readonly rules: readonly unknown[] } =>
  isObject(rule) && COMPOSED.has(rule['type']) && Array.isArray(rule['rules']);

const isSumBody = (rule: unknown): rule is Members & { readonly rules: readonly unknown[] } =>
  isObject(rule) && rule['type'] === 'SUM' && Array.isArray(rule['rules']);

/** The members of a term that may be calls. */
const WEIGHTS = ['times', 'per'] as const;

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
  let count = 0;
  const placeAll = (list: readonly unknown[], path: readonly PropertyKey[], depth: number): void => {
    for (const [index, rule] of list.entries()) {
      if (count > rulesMax) return;
      count += 1;
      const at = [...path, index];
      rules.push({ rule, path: at, place: depth === 0 ? 'outermost' : 'nested' });
      if (isSumBody(rule)) placeTerms(rule.rules, [...at, 'rules']);
      if (!isComposedBody(rule)) continue;
      if (depth === COMPOSED_DEPTH_MAX) tooDeep.push(pointerOf(at));
      else placeAll(rule.rules, [...at, 'rules'], depth + 1);
    }
  };
  const placeTerms = (list: readonly unknown[], path: readonly PropertyKey[]): void => {
    for (const [index, term] of list.entries()) {
      if (count > rulesMax) return;
      count += 1;
      const at = [...path, index];
      rules.push({ rule: term, path: at, place: 'term' });
      if (!isObject(term)) continue;
      for (const weight of WEIGHTS)
        if (isObject(term[weight]))
          rules.push({ rule: term[weight], path: [...at, weight], place: 'weight' });
    }
  };
  placeAll(rulesOf(body), ['rules'], 0);
  return { rules, tooDeep, hasTooMany: count > rulesMax };
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
  return rules.flatMap(({ rule, path, place }) => {
    if (!isObject(rule)) return [];
    const at = (...members: readonly PropertyKey[]) => pointerOf([...path, ...members]);
    // The schema does not look at a rule or a term of an unknown type, nor at a rule that is nested too
    // deep, nor at the terms of a sum that has too many.
    const ofTerm = path.slice(0, place === 'weight' ? -1 : undefined);
    const isUnread = () =>
      path.some((_, index) => broken.has(pointerOf(path.slice(0, index + 1)))) ||
      broken.has(pointerOf([...ofTerm, 'type']));
    if (broken.size > 0 && isUnread()) return [];
    const sound = broken.size === 0 ? rule : soundMembers(rule, (...members) => broken.has(at(...members)));
    const faults = validateRule(sound, { present: new Set(Object.keys(rule)), place }, chainIds);
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
    rules.flatMap(({ rule, place }) =>
      place !== 'weight' && isObject(rule) && 'chainId' in rule ? [String(rule['chainId'])] : [],
    ),
  );

/** The sums over several chains, which are read at one instant: where each is, and its chains in
 * decimal. */
export const sumsOverChains = ({ rules }: PlacedRules) =>
  rules.flatMap(({ rule, path, place }) => {
    if (place === 'term' || !isSumBody(rule)) return [];
    const chains = new Set(
      rule.rules.flatMap((term) =>
        isObject(term) && typeof term['chainId'] === 'number' ? [String(term['chainId'])] : [],
      ),
    );
    return chains.size > 1 ? [{ pointer: pointerOf(path), chains }] : [];
  });

/** The rule, term or weight whose member is at a path. */
export type Holder = { readonly type: string; readonly place: Place };

/** `undefined` if the path does not lead to a member of a rule. */
export function holderOf(body: unknown, path: readonly PropertyKey[]): Holder | undefined {
  const holder = path.slice(0, -1);
  const last = holder.at(-1);
  const isWeight = last === 'times' || last === 'per';
  const rule = isWeight ? holder.slice(0, -1) : holder;
  const isRule =
    rule.length > 0 &&
    rule.length % 2 === 0 &&
    rule.every((part, index) => (index % 2 === 0 ? part === 'rules' : typeof part === 'number'));
  if (!isRule) return undefined;
  const typeAt = (at: readonly PropertyKey[]) => (valueAt(body, at) as Members | undefined)?.['type'];
  const isTerm = rule.length > 2 && typeAt(rule.slice(0, -2)) === 'SUM';
  if (isWeight) return isTerm ? { type: String(last), place: 'weight' } : undefined;
  const type = typeAt(rule);
  if (typeof type !== 'string') return undefined;
  return { type, place: isTerm ? 'term' : rule.length > 2 ? 'nested' : 'outermost' };
}

/** Members of terms alone. */
const OF_TERMS: ReadonlySet<string> = new Set([...WEIGHTS, 'decimals']);

/** Why a rule must not have a member that others may have; `undefined` for a member of none. */
export function describeForeignMember(
  { type, place }: Holder,
  path: readonly PropertyKey[],
): string | undefined {
  const member = String(path.at(-1));
  if (place === 'weight' || !RULE_MEMBERS.has(member)) return undefined;
  if (member === 'roleId')
    return `is not allowed inside of a ${place === 'term' ? 'SUM' : 'composed rule'}: the outermost rule names the role`;
  if (member === 'contractAddress' && type === 'NATIVE')
    return 'is not allowed for NATIVE: a native balance has no contract';
  if (member === 'tokenId') return `is not allowed for ${type}, which has no token ids`;
  if (place === 'term' && (member === 'minToken' || member === 'maxToken'))
    return 'is not allowed inside of a SUM: the sum has the bounds';
  if (place !== 'term' && OF_TERMS.has(member)) return 'is allowed only inside of a SUM';
  return `is not allowed for ${type}${place === 'term' ? ' inside of a SUM' : ''}`;
}

/** The members of a rule that are well-formed by themselves. A malformed member is absent here. */
type RuleParts = {
  readonly type?: string | undefined;
  readonly chainId?: number | undefined;
  readonly contractAddress?: string | undefined;
  readonly minToken?: string | undefined;
  readonly maxToken?: string | undefined;
  readonly tokenId?: string | undefined;
  readonly atLeast?: number | undefined;
  readonly rules?: readonly unknown[] | undefined;
  readonly function?: string | undefined;
  readonly args?: readonly string[] | undefined;
  readonly returns?: string | undefined;
  readonly operator?: string | undefined;
  readonly value?: string | undefined;
};

/** A fault of a rule's member. Its detail is a predicate, such as "is required for ERC20". */
type RuleFault = {
  readonly member: string;
  /** Of the faulty entry, where the member is a list. */
  readonly index?: number;
  readonly code: string;
  readonly detail: string;
};

const TOKEN_ID_DETAIL = {
  grammar: 'must be ids and ranges separated by commas, without spaces, such as "1,2,42-69"',
  reversed: 'has a range that ends before it begins; write the smaller id first, such as "42-69"',
  'too-large': 'has an id of 2^256 or more; the largest id is 2^256 - 1',
  'too-many': `has more than ${TOKEN_IDS_MAX} ids after its ranges are expanded`,
} as const;

const CHAINS_LISTED_MAX = 20;

const isNft = (type: string): boolean => type === 'ERC721' || type === 'ERC1155';

/**
 * Validates a rule beyond the schema of its type: its members together, and against the
 * configuration.
 *
 * @param parts the well-formed members
 * @param chainIds the configured chains
 * @example
 * validateRule({ type: 'NATIVE', chainId: 1, minToken: '0' }, { present, place: 'outermost' }, new Set([1]));
 * // [{ member: 'minToken', code: 'min-token-zero', detail: '…' }]
 */
function validateRule(parts: RuleParts, sent: Sent, chainIds: ReadonlySet<number>): RuleFault[] {
  const faults: RuleFault[] = [];
  const add: AddFault = (member, code, detail, index) =>
    faults.push({ member, code, detail, ...(index === undefined ? {} : { index }) });
  if (parts.chainId !== undefined && !chainIds.has(parts.chainId))
    add(
      'chainId',
      'chain-unsupported',
      `names chain ${parts.chainId}, which is not configured; ${listOf(chainIds)}`,
    );
  validateAmounts(parts, sent, add);
  validateTokenId(parts.tokenId, add);
  validateAtLeast(parts, add);
  validateViewCall(parts, sent, add);
  return faults;
}

/** The body of a client. */
type Sent = {
  /** The names of all members, well-formed or not. */
  readonly present: ReadonlySet<string>;
  readonly place: Place;
};

/** The configured chains as text; a long list is cut. */
function listOf(chainIds: ReadonlySet<number>): string {
  const listed = [...chainIds].slice(0, CHAINS_LISTED_MAX).join(', ');
  return `configured: ${listed}${chainIds.size > CHAINS_LISTED_MAX ? ', …' : ''}`;
}

/** `index` is that of the faulty entry of a list. */
type AddFault = (member: string, code: string, detail: string, index?: number) => void;

function validateAmounts({ type, minToken, maxToken }: RuleParts, { present }: Sent, add: AddFault): void {
  if (type !== undefined && isNft(type)) {
    if (minToken !== undefined && hasFraction(minToken))
      add('minToken', 'fraction', `must be a whole number for ${type}, such as "1"`);
    if (maxToken !== undefined && hasFraction(maxToken))
      add('maxToken', 'fraction', `must be a whole number for ${type}, such as "1"`);
  }
  if (minToken !== undefined && isZeroAmount(minToken) && !present.has('maxToken'))
    add(
      'minToken',
      'min-token-zero',
      'must be above zero unless maxToken is given: a minimum of zero alone would always grant',
    );
  const least = present.has('minToken') ? minToken : '1';
  if (least !== undefined && maxToken !== undefined && compareAmounts(maxToken, least) < 0)
    add('maxToken', 'out-of-range', 'must not be below minToken ("1" by default)');
}

function validateTokenId(tokenId: string | undefined, add: AddFault): void {
  if (tokenId === undefined) return;
  const ids = parseTokenIds(tokenId);
  if (!ids.ok)
    add('tokenId', ids.reason === 'grammar' ? 'malformed' : 'out-of-range', TOKEN_ID_DETAIL[ids.reason]);
}

function validateAtLeast({ atLeast, rules }: RuleParts, add: AddFault): void {
  if (atLeast !== undefined && rules !== undefined && atLeast > rules.length)
    add('atLeast', 'out-of-range', `must be at most ${rules.length}, the number of rules inside`);
}

/**
 * Validates the call of a `CONTRACT` rule, a term or a weight, and what is done with its output.
 * Nothing is said of the arguments and the value of a function that is refused.
 */
function validateViewCall(parts: RuleParts, { present, place }: Sent, add: AddFault): void {
  if (parts.function === undefined) return;
  const parsed = parseViewFunction(parts.function);
  if (!parsed.ok) {
    add('function', 'function-unsupported', parsed.detail);
    return;
  }
  validateArguments(parsed.fn, parts.args, present, add);
  if (place === 'weight') validateWeightArguments(parsed.fn, parts.args, add);
  if (present.has('returns') && parts.returns === undefined) return;
  const output = findOutput(parsed.fn, parts.returns);
  if (!output.ok) add('returns', output.code, output.detail);
  else if (place === 'outermost' || place === 'nested') validateComparison(output.type, parts, present, add);
  else if (output.type.kind !== 'uint')
    add(
      'function',
      'function-unsupported',
      `must return an unsigned integer, which is an amount; its output is of type ${nameOfType(output.type)}`,
    );
}

/** A weight is read once for all wallets. */
function validateWeightArguments(
  { inputs }: ViewFunction,
  args: readonly string[] = [],
  add: AddFault,
): void {
  for (const [index, text] of args.entries())
    if (text === ACCOUNT && inputs[index]?.type.kind === 'address')
      add('args', 'not-allowed', `must not be "${ACCOUNT}": a weight is the same for all wallets`, index);
}

function validateArguments(
  fn: ViewFunction,
  args: readonly string[] | undefined,
  present: ReadonlySet<string>,
  add: AddFault,
): void {
  const expected = fn.inputs.length;
  if (args === undefined) {
    if (!present.has('args') && expected > 0)
      add(
        'args',
        'required',
        `is required: ${fn.name} has ${expected} ${expected === 1 ? 'input' : 'inputs'}`,
      );
    return;
  }
  if (args.length !== expected) {
    const code = args.length < expected ? 'too-short' : 'too-many';
    add('args', code, `must have one text per input of ${fn.name}, which has ${expected}`);
    return;
  }
  const faults = fn.inputs.map(({ type }, index) => judgeArgument(type, args[index] ?? ''));
  for (const [index, detail] of faults.entries())
    if (detail !== undefined) add('args', 'malformed', detail, index);
  if (faults.some((detail) => detail !== undefined)) return;
  const call = encodeCall(fn, args, ZERO_ADDRESS);
  if (!call.ok) add('args', 'function-unsupported', call.detail);
}

/** Only a boolean has an operator and a value by default, and only integers can be ordered. */
function validateComparison(
  type: AbiType,
  { operator, value }: RuleParts,
  present: ReadonlySet<string>,
  add: AddFault,
): void {
  const isBoolean = type.kind === 'bool';
  for (const member of ['operator', 'value'])
    if (!isBoolean && !present.has(member))
      add(member, 'required', `is required for an output of type ${nameOfType(type)}`);
  if (operator !== undefined && operator !== 'eq' && operator !== 'ne' && !isInteger(type))
    add(
      'operator',
      'not-allowed',
      `must be eq or ne for an output of type ${nameOfType(type)}, which has no order`,
    );
  const detail = value === undefined ? undefined : judgeValue(type, value);
  if (detail !== undefined) add('value', 'malformed', detail);
}
