import type { z } from 'zod';

/** One fault of a request's body or query, or of its headers (with the pointer `""`). */
export type Fault = {
  /** RFC 6901, into the body as the client sent it; for a query its parameter, as if the query were
   * an object. */
  readonly pointer: string;
  /** A problem code if the fault has one of its own, otherwise a word for its kind. */
  readonly code: string;
  readonly detail: string;
};

/** A valid value, or every fault of what was sent. */
export type Judged<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/** Faults of one body that are listed: a body of 256 KiB could hold tens of thousands. */
export const BODY_FAULTS_MAX = 1_000;

/**
 * A JSON pointer of a path.
 *
 * @example
 * pointerOf(['rules', 0, 'a/b']); // '/rules/0/a~1b'
 */
export const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/**
 * A fault whose detail is a sentence about the member.
 *
 * @param predicate such as "is required"
 */
export const faultAt = (pointer: string, code: string, predicate: string): Fault => ({
  pointer,
  code,
  detail: `${pointer === '' ? 'The body' : pointer} ${predicate}.`,
});

/**
 * The predicate about an unknown member, which names the members that would be right.
 *
 * @param known the members of the object that holds it, where that is certain
 */
export const notKnown = (known?: Iterable<string>): string =>
  `is not a known member${known ? `; known: ${[...known].join(', ')}` : ''}`;

type FaultAt = (pointer: string, path: readonly PropertyKey[]) => Fault;
/** How to tell of unknown and of missing members, which every schema can have. */
type MemberFaults = { readonly unknown: FaultAt; readonly missing: FaultAt };

/** Describes an issue of a schema; `member` is the last part of the pointer's path. */
type Describe = (pointer: string, member: string) => Fault;

/** An issue that says itself what is wrong. */
export const describedBy = (issue: z.core.$ZodRawIssue, describe: Describe): z.core.$ZodRawIssue =>
  Object.assign(issue, { describe });

const MEMBER_FAULTS: MemberFaults = {
  unknown: (pointer) => ({ pointer, code: 'unknown-member', detail: 'There is no such member.' }),
  missing: (pointer) => ({ pointer, code: 'required', detail: 'Required.' }),
};

/**
 * The faults of a schema's issues: one per unknown member and per missing one, and `faultOf` for
 * every other issue, each once. At most `BODY_FAULTS_MAX`, since each costs more than the member that
 * it is about.
 *
 * @param body the value that the schema refused
 */
export function faultsOfIssues(
  issues: readonly z.core.$ZodIssue[],
  body: unknown,
  faultOf: (issue: z.core.$ZodIssue, pointer: string) => Fault,
  memberFaults: MemberFaults = MEMBER_FAULTS,
): Fault[] {
  const faults: Fault[] = [];
  for (const issue of issues.flatMap(issuesOfBranch)) {
    const left = BODY_FAULTS_MAX - faults.length;
    if (left === 0) break;
    const { describe } = issue as { readonly describe?: Describe };
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys.slice(0, left)) {
        const path = [...issue.path, key];
        const pointer = pointerOf(path);
        faults.push(describe?.(pointer, key) ?? memberFaults.unknown(pointer, path));
      }
      continue;
    }
    const pointer = pointerOf(issue.path);
    const fault =
      describe?.(pointer, String(issue.path.at(-1))) ??
      (isAbsent(body, issue.path) ? memberFaults.missing(pointer, issue.path) : faultOf(issue, pointer));
    // A number that is no safe integer is above its bound too: that one, which comes last, is told.
    const last = faults.at(-1);
    if (last?.pointer === pointer && last.code === fault.code) faults.pop();
    faults.push(fault);
  }
  return faults;
}

/**
 * The issues of the branch that a value was meant for: the one whose type the value has. A value
 * that is of no branch's type has the issue of the union.
 */
function issuesOfBranch(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const isMistyped = ({ code, path }: z.core.$ZodIssue) => code === 'invalid_type' && path.length === 0;
  const branch = issue.errors.find((errors) => !errors.some(isMistyped));
  return branch?.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] })) ?? [issue];
}

/** Whether the member itself is missing while the object that would hold it is there. */
function isAbsent(body: unknown, path: readonly PropertyKey[]): boolean {
  const holder = valueAt(body, path.slice(0, -1));
  const isObject = typeof holder === 'object' && holder !== null && !Array.isArray(holder);
  return path.length > 0 && isObject && !Object.hasOwn(holder, path.at(-1) ?? '');
}

/** The value at a path inside a value that was parsed from JSON. */
export const valueAt = (body: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], body);
