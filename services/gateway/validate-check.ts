import type { z } from 'zod';
import { countReads, READS_MAX } from '#shared/contracts/count-reads.ts';
import { type Fault, faultsOfIssues, pointerOf, valueAt } from '#shared/contracts/fault.ts';
import { type CallbackPolicy, judgeCallbackUrl } from '#shared/contracts/judge-callback-url.ts';
import type { TokenRule } from '#shared/contracts/rule.ts';
import { CheckBody, RULES_MAX, RULES_MAX_ENTERPRISE, type RuleBody } from './api.ts';
import { validateRule } from './domain/validate-rule.ts';
import { isCommonBody } from './validate-fast-path.ts';

/** Faults that one answer lists; a body of 256 KiB could hold tens of thousands. */
const FAULTS_MAX = 1_000;

/** A check that is valid, with every default filled in. */
export type ValidCheck = {
  readonly account: string;
  readonly rules: readonly TokenRule[];
  readonly callbackUrl: string | undefined;
  readonly isAsync: boolean;
  readonly onUndetermined: 'omit' | 'deny' | 'fail';
  readonly consistency: {
    readonly blockTag: 'latest' | 'safe' | 'finalized';
    readonly minBlock: Readonly<Record<string, number>>;
  };
  /** Text that is equal for two bodies with equal validated values, whatever the order of their members. */
  readonly canonical: () => string;
};

export type ValidationRules = {
  readonly isEnterprise: boolean;
  /** The configured chains. */
  readonly chainIds: ReadonlySet<number>;
  readonly callback: CallbackPolicy;
};

export type Validation =
  | { readonly ok: true; readonly check: ValidCheck }
  | { readonly ok: false; readonly faults: readonly Fault[] };

type Members = Readonly<Record<string, unknown>>;
/** A body of unknown content, by the members that are read here. */
type RawBody = { readonly [Name in keyof CheckBody]?: unknown };

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const membersOf = (body: unknown): RawBody => (isObject(body) ? body : {});
const rulesOf = (body: unknown): unknown[] => {
  const { rules } = membersOf(body);
  return Array.isArray(rules) ? rules : [];
};

/**
 * Validates the body of a check and lists every fault by JSON pointer.
 *
 * @param body the result of `JSON.parse`
 * @example
 * validateCheck({ account: '0x…', rules: [] }, rules); // { ok: false, faults: [{ pointer: '/rules', … }] }
 */
export function validateCheck(body: unknown, rules: ValidationRules): Validation {
  const tooMany = tooManyRules(body, rules);
  const parsed =
    !tooMany && isCommonBody(body)
      ? ({ success: true, data: body } as const)
      : CheckBody.safeParse(tooMany ? { ...(body as Members), rules: undefined } : body);
  const found = parsed.success
    ? []
    : faultsOfIssues(parsed.error.issues, body, (issue, pointer) => faultOfIssue(issue, pointer, body), {
        unknown: 'is not a known member',
        missing: 'is required',
      });
  const faults = tooMany ? [tooMany, ...found.filter(({ pointer }) => pointer !== '/rules')] : found;
  const broken = new Set(faults.map(({ pointer }) => pointer));
  const callback = callbackOf(body, broken, rules.callback);
  if (callback && 'fault' in callback) faults.push(callback.fault);
  if (!tooMany) faults.push(...faultsOfRules(body, broken, rules.chainIds));
  faults.push(...faultsOfMinBlock(body, broken));
  if (faults.length > 0 || !parsed.success)
    return { ok: false, faults: faults.slice(0, FAULTS_MAX).map(asSentence) };
  const check = complete(parsed.data, callback && 'href' in callback ? callback.href : undefined);
  const readsMax = READS_MAX[check.isAsync ? 'bulk' : 'interactive'];
  if (!needsMoreReads(check.rules, readsMax)) return { ok: true, check };
  const detail = `needs more than ${readsMax} reads after deduplication; split it into several checks`;
  return { ok: false, faults: [asSentence({ pointer: '/rules', code: 'too-many-reads', detail })] };
}

/** A sentence as the second half of another one. */
const asClause = (sentence: string): string =>
  `${sentence.charAt(0).toLowerCase()}${sentence.slice(1).replace(/\.$/, '')}`;

/** A fault whose detail stands alone: it names the member that the predicate is about. */
const asSentence = ({ pointer, code, detail }: Fault): Fault => ({
  pointer,
  code,
  detail: `${pointer === '' ? 'The body' : pointer} ${detail}.`,
});

/** Checked first, so that a body with a hundred thousand wrong rules costs no more than one with none. */
function tooManyRules(body: unknown, { isEnterprise }: ValidationRules): Fault | undefined {
  const { async, callbackUrl } = membersOf(body);
  const isAsync = async === true || typeof callbackUrl === 'string';
  const max = isEnterprise && isAsync ? RULES_MAX_ENTERPRISE : RULES_MAX;
  if (rulesOf(body).length <= max) return undefined;
  return { pointer: '/rules', code: 'too-many', detail: `must have at most ${max} rules` };
}

function callbackOf(body: unknown, broken: ReadonlySet<string>, policy: CallbackPolicy) {
  const { callbackUrl } = membersOf(body);
  if (typeof callbackUrl !== 'string' || broken.has('/callbackUrl')) return undefined;
  const judged = judgeCallbackUrl(callbackUrl, policy);
  if (!('fault' in judged)) return judged;
  const { code, detail } = judged.fault;
  // Its detail is a sentence of its own, which the portal shows too.
  return { fault: { pointer: '/callbackUrl', code, detail: `is refused: ${asClause(detail)}` } };
}

function faultsOfRules(body: unknown, broken: ReadonlySet<string>, chainIds: ReadonlySet<number>): Fault[] {
  return rulesOf(body).flatMap((rule, index) => {
    if (!isObject(rule)) return [];
    const at = (member: string) => pointerOf(['rules', index, member]);
    const sound = broken.size === 0 ? rule : soundMembers(rule, (member) => broken.has(at(member)));
    const faults = validateRule(sound, new Set(Object.keys(rule)), chainIds);
    return faults.map(({ member, code, detail }) => ({ pointer: at(member), code, detail }));
  });
}

const soundMembers = (rule: Members, isBroken: (member: string) => boolean): Members =>
  Object.fromEntries(Object.entries(rule).filter(([member]) => !isBroken(member)));

/** `minBlock` may name only chains that a rule names. (This also finds `__proto__`, which a zod record ignores.) */
function faultsOfMinBlock(body: unknown, broken: ReadonlySet<string>): Fault[] {
  const { consistency } = membersOf(body);
  const { minBlock } = (isObject(consistency) ? consistency : {}) as { readonly minBlock?: unknown };
  if (!isObject(minBlock)) return [];
  const chains = new Set(
    rulesOf(body).map((rule) => String((rule as { chainId?: unknown } | null)?.chainId)),
  );
  return Object.keys(minBlock)
    .map((chainId) => ({ chainId, pointer: pointerOf(['consistency', 'minBlock', chainId]) }))
    .filter(({ chainId, pointer }) => !chains.has(chainId) && !broken.has(pointer))
    .map(({ pointer }) => ({
      pointer,
      code: 'chain-not-in-rules',
      detail: 'names a chain that no rule names',
    }));
}

/** The expected value of members that clients often send in another type. */
const EXPECTED: Readonly<Record<string, string>> = {
  account: 'an address as a string',
  contractAddress: 'an address as a string',
  rules: 'a list of rules',
  chainId: 'an integer such as 1',
  roleId: 'a string',
  minToken: 'a decimal string such as "1500.5"',
  maxToken: 'a decimal string such as "1500.5"',
  tokenId: 'a string such as "1,2,42-69"',
  callbackUrl: 'a URL as a string',
  async: 'true or false',
};

const nameOfType = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`);

function describeRange(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  if (issue.code === 'too_small') return `must be ${issue.inclusive ? 'at least' : 'above'} ${issue.minimum}`;
  return `must be ${issue.inclusive ? 'at most' : 'below'} ${issue.maximum}`;
}

function faultOfIssue(issue: z.core.$ZodIssue, pointer: string, body: unknown): Fault {
  if (issue.code === 'custom') {
    const { code } = issue.params as { readonly code: string };
    return { pointer, code, detail: issue.message };
  }
  if (issue.code === 'invalid_type')
    return {
      pointer,
      code: 'wrong-type',
      detail: `must be ${EXPECTED[String(issue.path.at(-1))] ?? nameOfType(issue.expected)}`,
    };
  if (issue.code === 'invalid_value') return faultOfChoice(pointer, issue.path, issue.values, body);
  if (issue.code === 'too_small' && issue.origin === 'array')
    return { pointer, code: 'too-short', detail: 'must have at least one rule' };
  if (issue.code === 'too_small' || issue.code === 'too_big')
    return { pointer, code: 'out-of-range', detail: describeRange(issue) };
  return { pointer, code: 'malformed', detail: 'is malformed' };
}

function faultOfChoice(
  pointer: string,
  path: readonly PropertyKey[],
  values: readonly unknown[],
  body: unknown,
): Fault {
  const detail = `must be one of ${values.join(', ')}`;
  if (typeof valueAt(body, path) !== 'string') return { pointer, code: 'wrong-type', detail };
  const isRuleType = path.length === 3 && path[0] === 'rules' && path[2] === 'type';
  return { pointer, code: isRuleType ? 'rule-type-unsupported' : 'not-a-choice', detail };
}

function complete(body: CheckBody, callbackUrl: string | undefined): ValidCheck {
  const consistency = {
    blockTag: body.consistency?.blockTag ?? 'latest',
    minBlock: Object.fromEntries(Object.entries(body.consistency?.minBlock ?? {}).sort(byKey)),
  };
  const onUndetermined = body.onUndetermined ?? 'omit';
  const isAsync = body.async === true || callbackUrl !== undefined;
  const rules = body.rules.map(ruleOf);
  const canonical = () => {
    const full = body.rules.map(({ minToken = '1', contractAddress, ...rule }) =>
      Object.entries({ ...rule, minToken, contractAddress: contractAddress?.toLowerCase() }).sort(byKey),
    );
    const mode = [callbackUrl ?? null, body.async === true];
    return JSON.stringify([body.account.toLowerCase(), full, mode, onUndetermined, consistency]);
  };
  return { account: body.account, rules, callbackUrl, isAsync, onUndetermined, consistency, canonical };
}

/** A rule without the members that are only for the client; most rules have none and need no copy. */
function ruleOf(body: RuleBody): TokenRule {
  if (hasOnlyEvaluatedMembers(body)) return body;
  const { name: _name, description: _description, minToken = '1', ...rule } = body;
  return { ...rule, minToken };
}

const hasOnlyEvaluatedMembers = (body: RuleBody): body is RuleBody & TokenRule =>
  body.minToken !== undefined && body.name === undefined && body.description === undefined;

const byKey = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1);

/** Counts equal rules once before their ids are expanded, so that common checks cost almost nothing. */
function needsMoreReads(rules: readonly TokenRule[], max: number): boolean {
  if (rules.length <= max && rules.every(({ tokenId }) => tokenId === undefined)) return false;
  const distinct = new Map(
    rules.map((rule) => [
      JSON.stringify([rule.type, rule.chainId, rule.contractAddress, rule.tokenId]),
      rule,
    ]),
  );
  return countReads([...distinct.values()]) > max;
}
