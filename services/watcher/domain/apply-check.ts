import type { RuleFault } from '#shared/contracts/result.ts';
import type { CheckCause, EventCause, MemberRole, WatchMember } from '#shared/contracts/watch.ts';

/** What one check found out about a member. */
export type MemberCheck = {
  readonly cause: CheckCause;
  /** The accounts that were read, in lower case. */
  readonly accounts: readonly string[];
  /** Every role of the rule set, in its order; `undefined`: could not be read. */
  readonly verdicts: ReadonlyMap<string, boolean | undefined>;
  readonly blockNumbers: Readonly<Record<string, number>>;
  readonly errors: readonly RuleFault[];
  readonly evaluatedAt: string;
  /** When the check was asked for, Redis's clock. */
  readonly askedAt: string;
  /** The rule set and its version, such as `vip@3`. */
  readonly rules: string;
  /** A revocation that is found waits for the end of this sweep. */
  readonly sweep?: number | undefined;
  /** By chain id, the first block that a reorg dropped. */
  readonly reorgFrom?: Readonly<Record<string, number>> | undefined;
};

/** A role in an event; `before` is `null` if it was never decided before. */
export type RoleChange = { readonly id: string; readonly granted: boolean; readonly before: boolean | null };

/** What the client is told of a member; `changes` lists all decided roles, changed ones first. */
export type MemberEvent = {
  readonly cause: EventCause;
  readonly sequence: number;
  readonly changes: readonly RoleChange[];
};

export type Applied = {
  readonly member: WatchMember;
  /** Absent: the client is told nothing. */
  readonly event?: MemberEvent;
  /** Roles that this step revoked, as the event says. */
  readonly revoked: readonly string[];
};

/*
 * A role of a member:
 *
 * never decided ──granted──► granted ──revoked──► denied ──granted──► granted …
 *                              │  ▲
 *               revoked in a sweep, or one revocation too many
 *                              ▼  │ granted again: dropped
 *                            withheld ──the sweep ends, or release──► denied
 *
 * A withheld role counts as granted in every event: the client was told nothing else.
 */

/** Whether a check says nothing about the member as it is now, or less than what is known of it. */
export function isStale(member: WatchMember, check: MemberCheck): boolean {
  if (check.askedAt < member.walletsAt) return true;
  const { rules = { name: check.rules, askedAt: '' } } = member;
  if (check.rules !== rules.name && check.askedAt < rules.askedAt) return true;
  if (check.accounts.join() !== accountsOf(member).join()) return true;
  if (member.reorgedAt !== undefined && check.evaluatedAt < member.reorgedAt) return true;
  return Object.entries(check.blockNumbers).some(([chainId, number]) => {
    const dropped = check.reorgFrom?.[chainId] ?? Infinity;
    return number < Math.min(member.blockNumbers[chainId] ?? 0, dropped);
  });
}

/** Roles that the check would revoke at once: those that no sweep decides on, and that are not held already. */
export function revocationsOf(member: WatchMember, check: MemberCheck): string[] {
  if (check.sweep !== undefined || isStale(member, check)) return [];
  return member.roles
    .filter(({ id, granted, withheld }) => granted && !isHeld(withheld) && check.verdicts.get(id) === false)
    .map(({ id }) => id);
}

/**
 * Applies a check to a member. A role that could not be read keeps its last verdict; one that the rule set lost is
 * dropped. A stale check changes nothing.
 *
 * @param holdRoles revocations of these roles are held back
 */
export function applyCheck(
  member: WatchMember,
  check: MemberCheck,
  holdRoles: ReadonlySet<string> = new Set(),
): Applied {
  if (isStale(member, check)) return { member, revoked: [] };
  const before = new Map(member.roles.map((role) => [role.id, role]));
  const roles: MemberRole[] = [];
  for (const [id, verdict] of check.verdicts) {
    const role = nextRole(before.get(id), id, verdict, check, holdRoles);
    if (role) roles.push(role);
  }
  const checked: WatchMember = {
    ...member,
    roles,
    checkedAt: check.evaluatedAt,
    blockNumbers: { ...member.blockNumbers, ...check.blockNumbers },
    errors: [...check.errors],
    rules: member.rules?.name === check.rules ? member.rules : { name: check.rules, askedAt: check.askedAt },
    ...(check.reorgFrom === undefined ? {} : { reorgedAt: check.evaluatedAt }),
  };
  return withEvent(member, checked, check.cause);
}

function nextRole(
  role: MemberRole | undefined,
  id: string,
  verdict: boolean | undefined,
  { evaluatedAt, sweep }: MemberCheck,
  holdRoles: ReadonlySet<string>,
): MemberRole | undefined {
  if (verdict === undefined) return role;
  if (role === undefined) return { id, granted: verdict, since: evaluatedAt };
  if (role.granted === verdict) return { id, granted: role.granted, since: role.since };
  if (verdict) return { id, granted: true, since: evaluatedAt };
  if (isHeld(role.withheld)) return role;
  if (sweep !== undefined) return { ...role, withheld: { sweep } };
  if (holdRoles.has(id)) return { ...role, withheld: {} };
  return { id, granted: false, since: evaluatedAt };
}

/** Ends a sweep for a member: what the sweep found is sent, but for the roles to hold. */
export function settleSweep(
  member: WatchMember,
  {
    sweep,
    cause,
    holdRoles,
    at,
  }: { sweep: number; cause: CheckCause; holdRoles: ReadonlySet<string>; at: string },
): Applied {
  const roles = member.roles.map((role) => {
    if (role.withheld?.sweep !== sweep) return role;
    return holdRoles.has(role.id) ? { ...role, withheld: {} } : { id: role.id, granted: false, since: at };
  });
  return withEvent(member, { ...member, roles }, cause);
}

/** Sends a member's held revocations. */
export function releaseHeld(member: WatchMember, at: string): Applied {
  const roles = member.roles.map((role) =>
    isHeld(role.withheld) ? { id: role.id, granted: false, since: at } : role,
  );
  return withEvent(member, { ...member, roles }, 'release');
}

function withEvent(before: WatchMember, after: WatchMember, cause: EventCause): Applied {
  const known = new Map(before.roles.map(({ id, granted }) => [id, granted]));
  const all = after.roles.map(({ id, granted }) => ({ id, granted, before: known.get(id) ?? null }));
  const changed = all.filter((role) => role.granted !== role.before);
  const revoked = changed.filter((role) => role.before === true).map(({ id }) => id);
  if (changed.length === 0) return { member: after, revoked };
  const sequence = before.sequence + 1;
  const changes = [...changed, ...all.filter((role) => role.granted === role.before)];
  return {
    member: { ...after, sequence },
    event: { cause: before.sequence === 0 ? 'first' : cause, sequence, changes },
    revoked,
  };
}

export const isHeld = (withheld: MemberRole['withheld']): boolean =>
  withheld !== undefined && withheld.sweep === undefined;

export const accountsOf = ({ account, accounts }: Pick<WatchMember, 'account' | 'accounts'>): string[] =>
  (accounts ?? [account]).map((each) => each.toLowerCase());
