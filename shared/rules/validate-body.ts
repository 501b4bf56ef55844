import { z } from 'zod';
import { type Fault, faultAt, faultsOfIssues, notKnown, valueAt } from '#shared/contracts/fault.ts';
import { RuleType } from '#shared/contracts/rules/rule.ts';
import {
  type ChainIds,
  faultsOfBounds,
  faultsOfChains,
  isObject,
  type Members,
  type PlacedRules,
  placeRules,
  withoutTooDeep,
} from './validate-rules.ts';

type RuleBounds = {
  /** Those inside of composed rules are counted too. */
  readonly rulesMax: number;
  readonly chainIds: ChainIds;
};

/** A body of unknown content, held against a schema with `rules`. */
type ValidatedBody<Body> = {
  readonly faults: readonly Fault[];
  readonly broken: ReadonlySet<string>;
  readonly placed: PlacedRules;
  /** The body by its schema; absent if that found a fault. */
  readonly parsed?: Body;
};

/**
 * Holds a body against its schema and lists every fault, those of its `rules` too. Anything that
 * has rules is validated by this: checks, batches, rule sets.
 *
 * @param body the result of `JSON.parse`
 */
export function validateBody<Body>(
  schema: z.ZodType<Body>,
  body: unknown,
  { rulesMax, chainIds }: RuleBounds,
): ValidatedBody<Body> {
  // First, so that a body with a hundred thousand wrong rules costs no more than one with none.
  const placed = placeRules(body, rulesMax);
  const bounds = faultsOfBounds(placed, rulesMax);
  const bounded = placed.hasTooMany
    ? { ...(body as Members), rules: undefined }
    : bounds.length > 0
      ? withoutTooDeep(body)
      : body;
  const result = schema.safeParse(bounded);
  const members = schema instanceof z.ZodObject ? Object.keys(schema.shape) : undefined;
  const found = describeIssues(result.error?.issues ?? [], body, '', ({ length }) =>
    length === 1 ? members : undefined,
  );
  const refused = new Set(bounds.map(({ pointer }) => pointer));
  // The length of a list is not judged where there is no list.
  const mistyped = new Set(found.flatMap(({ pointer, code }) => (code === 'wrong-type' ? [pointer] : [])));
  const own = [
    ...bounds,
    ...found.filter(
      ({ pointer, code }) => !refused.has(pointer) && (code === 'wrong-type' || !mistyped.has(pointer)),
    ),
  ];
  const broken = new Set(own.map(({ pointer }) => pointer));
  const ofChains = placed.hasTooMany ? [] : faultsOfChains(placed, broken, chainIds);
  return {
    faults: [...own, ...ofChains],
    broken,
    placed,
    ...(result.success ? { parsed: result.data } : {}),
  };
}

/**
 * The faults of a schema's issues.
 *
 * @param value what the schema refused
 * @param place the pointer of the value in the body
 * @param knownAt the members of the object at a path, where that is certain
 */
export const describeIssues = (
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  place = '',
  knownAt: (path: readonly PropertyKey[]) => readonly string[] | undefined = () => undefined,
): Fault[] =>
  faultsOfIssues(issues, value, faultOfIssueIn(value), {
    unknown: (pointer, path) => ({ pointer, code: 'unknown-member', detail: notKnown(knownAt(path)) }),
    missing: (pointer) => ({ pointer, code: 'required', detail: 'is required' }),
  }).map(({ pointer, code, detail }) => faultAt(place + pointer, code, detail));

/** The expected value of members that clients often send in another type. */
const EXPECTED: Readonly<Record<string, string>> = {
  account: 'an address as a string',
  accounts: 'a list of addresses',
  vaults: 'a list of addresses',
  contractAddress: 'an address as a string',
  rules: 'a list of rules',
  ruleSet: 'the id of a rule set as a string',
  chainId: 'an integer such as 1',
  roleId: 'a string',
  minToken: 'a decimal string such as "1500.5"',
  maxToken: 'a decimal string such as "1500.5"',
  tokenId: 'a string such as "1,2,42-69"',
  function: 'a function signature as a string',
  args: 'a list of strings, one for each input',
  returns: 'the name or the index of an output as a string',
  value: 'a string such as "7"',
  atLeast: 'an integer such as 2',
  times: 'a decimal string such as "1.5", or a call',
  per: 'a call',
  decimals: 'an integer such as 18',
  callbackUrl: 'a URL as a string',
  async: 'true or false',
  explain: 'true or false',
  proof: 'true or false',
  proofSeconds: 'a whole number of seconds',
  signIn: 'a list of messages with their signatures',
  message: 'the signed text as a string',
  signature: 'a hexadecimal string such as "0x1b…"',
  everySeconds: 'a whole number of seconds',
  graceSeconds: 'a whole number of seconds',
  stalledAfterSeconds: 'a whole number of seconds',
  follow: 'true or false',
};

/** The entries of lists. */
const ENTRIES: Readonly<Record<string, string>> = {
  rules: 'rule',
  accounts: 'wallet',
  vaults: 'wallet',
  signIn: 'message',
  args: 'text',
};

const nameOfType = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`);

function describeRange(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  if (issue.code === 'too_small') return `must be ${issue.inclusive ? 'at least' : 'above'} ${issue.minimum}`;
  return `must be ${issue.inclusive ? 'at most' : 'below'} ${issue.maximum}`;
}

/** The fault of an issue of a body's schema, as a predicate. */
const faultOfIssueIn =
  (body: unknown) =>
  (issue: z.core.$ZodIssue, pointer: string): Fault => {
    const member = String(issue.path.at(-1));
    if (issue.code === 'invalid_type')
      return {
        pointer,
        code: 'wrong-type',
        detail: `must be ${EXPECTED[member] ?? nameOfType(issue.expected)}`,
      };
    if (issue.code === 'invalid_value') return faultOfChoice(pointer, issue.path, issue.values, body);
    if (issue.code === 'invalid_union')
      return member === 'type'
        ? faultOfType(pointer, issue.path, body)
        : { pointer, code: 'wrong-type', detail: `must be ${EXPECTED[member]}` };
    if (issue.code === 'too_small' && issue.origin === 'array')
      return { pointer, code: 'too-short', detail: `must have at least one ${ENTRIES[member] ?? 'entry'}` };
    if (issue.code === 'too_big' && issue.origin === 'array')
      return {
        pointer,
        code: 'too-many',
        detail: `must have at most ${issue.maximum} ${ENTRIES[member] ?? 'entrie'}s`,
      };
    if (issue.code === 'too_small' || issue.code === 'too_big')
      return { pointer, code: 'out-of-range', detail: describeRange(issue) };
    return { pointer, code: 'malformed', detail: 'is malformed' };
  };

/** Of the type of a rule or term. */
function faultOfType(pointer: string, path: readonly PropertyKey[], body: unknown): Fault {
  const type = RuleType.safeParse(valueAt(body, path)).data;
  const isTerm = valueAt(body, [...path.slice(0, -3), 'type']) === 'SUM';
  if (type === undefined || !isTerm)
    return faultOfChoice(pointer, path, RuleType.options, body, 'rule-type-unsupported');
  const detail = `must be that of a token rule or CONTRACT: a SUM has no ${type} inside`;
  return { pointer, code: 'not-allowed', detail };
}

function faultOfChoice(
  pointer: string,
  path: readonly PropertyKey[],
  values: readonly unknown[],
  body: unknown,
  code = 'not-a-choice',
): Fault {
  const detail = `must be one of ${values.join(', ')}`;
  return { pointer, code: typeof valueAt(body, path) === 'string' ? code : 'wrong-type', detail };
}

export const membersOf = (body: unknown): Members => (isObject(body) ? body : {});
