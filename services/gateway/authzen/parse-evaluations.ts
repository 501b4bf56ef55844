import { hash } from 'node:crypto';
import { canonicalize } from 'json-canonicalize';
import { type Fault, faultAt } from '#shared/contracts/fault.ts';
import { describeIssues } from '#shared/rules/validate-body.ts';
import { isObject, type Members } from '#shared/rules/validate-rules.ts';
import {
  DISTINCT_CHECKS_MAX,
  EvaluationBody,
  EvaluationList,
  MEMBERS,
  REQUIRED,
  type SEMANTICS,
  splitRole,
} from './evaluation-bodies.ts';

/** The check that one or more evaluations need, as the body of a sync check. */
export type NeededCheck = Pick<NonNullable<EvaluationBody['context']>, 'consistency' | 'onUndetermined'> & {
  readonly account: string;
  readonly ruleSet: string;
};

/** One evaluation: the key of its check and its role, or its own faults. */
type Entry =
  | {
      readonly ok: true;
      readonly key: string;
      readonly roleId: string;
      /** The pointers of its members, which may be the defaults of all. */
      readonly places: Places;
    }
  | { readonly ok: false; readonly faults: readonly Fault[] };

type Member = (typeof MEMBERS)[number];
type Places = Readonly<Partial<Record<Member, string>>>;

export type Semantic = (typeof SEMANTICS)[number];

export type ParsedEvaluations = {
  /** Absent: a single evaluation was asked for, and is answered as one. */
  readonly semantic: Semantic | undefined;
  readonly entries: readonly Entry[];
  /** The distinct checks, by key. */
  readonly checks: ReadonlyMap<string, NeededCheck>;
};

type Parsed =
  | { readonly ok: true; readonly value: ParsedEvaluations }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/**
 * Parses the body of either operation. The faults that it returns are of the body as a whole.
 *
 * @param acceptsList whether the operation takes `evaluations`
 * @example
 * parseEvaluations({ subject, action, resource }, false); // { ok: true, value: { entries: [ … ], … } }
 */
export function parseEvaluations(body: unknown, acceptsList: boolean): Parsed {
  if (!isObject(body)) return refused([faultAt('', 'wrong-type', 'must be a JSON object')]);
  const defaults = readMembers(body, '');
  const { evaluations } = body;
  const isSingle = !acceptsList || evaluations === undefined || isEmptyList(evaluations);
  if (isSingle) return gather(undefined, [draftOf(defaults, '')]);
  const list = EvaluationList.safeParse(body);
  if (!list.success) return refused(describeIssues(list.error.issues, body));
  const drafts = list.data.evaluations.map((entry, index) => {
    const place = `/evaluations/${index}`;
    return isObject(entry)
      ? draftOf({ ...defaults, ...readMembers(entry, place) }, place)
      : { faults: [faultAt(place, 'wrong-type', 'must be an object')] };
  });
  return gather(list.data.options?.evaluations_semantic ?? 'execute_all', drafts);
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const refused = (faults: readonly Fault[]): Parsed => ({ ok: false, faults });

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

type Draft =
  | { readonly faults: readonly Fault[] }
  | (Extract<Entry, { readonly ok: true }> & { readonly check: NeededCheck });

function draftOf(members: ReadMembers, place: string): Draft {
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
    ok: true,
    key: `${subject.id.toLowerCase()} ${ruleSet} ${members.context?.key ?? NO_CONTEXT}`,
    roleId,
    places: Object.fromEntries(read.map(([name, member]) => [name, member.place])),
    check: { account: subject.id, ruleSet, ...context },
  };
}

/** The key of a context of which nothing is taken. */
const NO_CONTEXT = hash('sha256', '{}', 'base64');

function gather(semantic: Semantic | undefined, drafts: readonly Draft[]): Parsed {
  const checks = new Map<string, NeededCheck>();
  const entries = drafts.map((draft): Entry => {
    if ('faults' in draft) return { ok: false, faults: draft.faults };
    const { check, ...entry } = draft;
    checks.set(entry.key, check);
    return entry;
  });
  if (checks.size <= DISTINCT_CHECKS_MAX) return { ok: true, value: { semantic, entries, checks } };
  const need = `must need at most ${DISTINCT_CHECKS_MAX} distinct checks, of subject, rule set and context`;
  return refused([faultAt('/evaluations', 'too-many', need)]);
}

const MOVED: Readonly<Record<string, readonly [Member, string]>> = {
  account: ['subject', 'id'],
  ruleSet: ['resource', 'id'],
  consistency: ['context', 'consistency'],
  onUndetermined: ['context', 'onUndetermined'],
};

/**
 * A fault of a check's body as a fault of the evaluation that needs the check.
 *
 * @example
 * asFaultOfEvaluation({ pointer: '/ruleSet', code: 'rule-set-unknown', detail: '/ruleSet names …' }, { resource: '/resource' });
 * // { pointer: '/resource/id', code: 'rule-set-unknown', detail: '/resource/id names …' }
 */
export function asFaultOfEvaluation({ pointer, code, detail }: Fault, places: Places): Fault {
  const [, name = ''] = pointer.split('/');
  const [member, own] = MOVED[name] ?? ['context', name];
  const moved = `${places[member] ?? `/${member}`}/${own}${pointer.slice(name.length + 1)}`;
  return { pointer: moved, code, detail: moved + detail.slice(pointer.length) };
}

export const roleUnknown = (places: Places): Fault =>
  faultAt(`${places.resource}/id`, 'role-unknown', 'names a role that no rule of the rule set has');
