import { hash } from 'node:crypto';
import { canonicalize } from 'json-canonicalize';
import { type Fault, faultAt } from '#shared/contracts/fault.ts';
import { describeIssues } from '#shared/rules/validate-body.ts';
import { isObject, type Members } from '#shared/rules/validate-rules.ts';
import {
  EvaluationBody,
  EvaluationList,
  MEMBERS,
  REQUIRED,
  type SEMANTICS,
  splitRole,
} from './evaluation-bodies.ts';

/** The check that one or more evaluations need, as the body of a sync check. */
type NeededCheck = Pick<NonNullable<EvaluationBody['context']>, 'consistency' | 'onUndetermined'> & {
  readonly account: string;
  readonly ruleSet: string;
};

type Member = (typeof MEMBERS)[number];
/** The pointers of the members of an evaluation, which may be the defaults of all. */
type Places = Readonly<Partial<Record<Member, string>>>;

export type Semantic = (typeof SEMANTICS)[number];

/** One evaluation: its check, with a key that is equal for equal ones, and its role. */
export type NeededDecision = {
  readonly key: string;
  readonly check: NeededCheck;
  readonly roleId: string;
  readonly places: Places;
};

type Parsed = NeededDecision | { readonly faults: readonly Fault[] };

type ParsedEvaluations = {
  /** Absent: a single evaluation was asked for, and is answered as one. */
  readonly semantic: Semantic | undefined;
  readonly entries: readonly Parsed[];
};

/**
 * Parses the body of either operation, or returns the faults of the body as a whole.
 *
 * @param acceptsList whether the operation takes `evaluations`
 * @example
 * parseEvaluations({ subject, action, resource }, false); // { semantic: undefined, entries: [ … ] }
 */
export function parseEvaluations(
  body: unknown,
  acceptsList: boolean,
): ParsedEvaluations | { readonly faults: readonly Fault[] } {
  if (!isObject(body)) return { faults: [faultAt('', 'wrong-type', 'must be a JSON object')] };
  const defaults = readMembers(body, '');
  const { evaluations } = body;
  const isSingle = !acceptsList || evaluations === undefined || isEmptyList(evaluations);
  if (isSingle) return { semantic: undefined, entries: [parseEntry(defaults, '')] };
  const list = EvaluationList.safeParse(body);
  if (!list.success) return { faults: describeIssues(list.error.issues, body) };
  const entries = list.data.evaluations.map((entry, index) => {
    const place = `/evaluations/${index}`;
    return isObject(entry)
      ? parseEntry({ ...defaults, ...readMembers(entry, place) }, place)
      : { faults: [faultAt(place, 'wrong-type', 'must be an object')] };
  });
  return { semantic: list.data.options?.evaluations_semantic ?? 'execute_all', entries };
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** A member as it was read once, however many entries have it as their default. */
type ReadMember = {
  readonly place: string;
  readonly faults: readonly Fault[];
  readonly value?: unknown;
  /** Of a context: equal for equal ones. */
  readonly key?: string;
};
type ReadMembers = Readonly<Partial<Record<Member, ReadMember>>>;

function readMembers(holder: Members, place: string): ReadMembers {
  const found = MEMBERS.filter((name) => Object.hasOwn(holder, name));
  return Object.fromEntries(found.map((name) => [name, readMember(name, holder[name], `${place}/${name}`)]));
}

function readMember(name: Member, value: unknown, place: string): ReadMember {
  const result = EvaluationBody.shape[name].safeParse(value);
  if (!result.success) return { place, faults: describeIssues(result.error.issues, value, place) };
  const key = name === 'context' ? { key: hash('sha256', canonicalize(result.data), 'base64') } : {};
  return { place, faults: [], value: result.data, ...key };
}

function parseEntry(members: ReadMembers, place: string): Parsed {
  const missing = REQUIRED.filter((name) => members[name] === undefined).map((name) =>
    faultAt(`${place}/${name}`, 'required', 'is required'),
  );
  const read = Object.entries(members);
  const faults = [...missing, ...read.flatMap(([, member]) => member.faults)];
  if (faults.length > 0) return { faults };
  const { subject, resource, context } = Object.fromEntries(
    read.map(([name, { value }]) => [name, value]),
  ) as EvaluationBody;
  const { ruleSet, roleId } = splitRole(resource.id);
  return {
    key: `${subject.id.toLowerCase()} ${ruleSet} ${members.context?.key ?? NO_CONTEXT}`,
    roleId,
    places: Object.fromEntries(read.map(([name, member]) => [name, member.place])),
    check: { account: subject.id, ruleSet, ...context },
  };
}

/** The key of a context of which nothing is taken. */
const NO_CONTEXT = hash('sha256', '{}', 'base64');

/**
 * A fault of a check's body as a fault of the evaluation that needs the check: of its rule set, or
 * of its context, since all members are valid by themselves.
 *
 * @example
 * asFaultOfEvaluation({ pointer: '/ruleSet', code: 'rule-set-unknown', detail: '/ruleSet names …' }, { resource: '/resource' });
 * // { pointer: '/resource/id', code: 'rule-set-unknown', detail: '/resource/id names …' }
 */
export function asFaultOfEvaluation({ pointer, code, detail }: Fault, places: Places): Fault {
  const moved = pointer === '/ruleSet' ? `${places.resource}/id` : `${places.context}${pointer}`;
  return { pointer: moved, code, detail: moved + detail.slice(pointer.length) };
}

export const roleUnknown = (places: Places): Fault =>
  faultAt(`${places.resource}/id`, 'role-unknown', 'names a role that no rule of the rule set has');
