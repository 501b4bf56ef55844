import {
  type CheckCause,
  type EventCause,
  type MemberRole,
  type WatchMember,
  withoutWithheld,
} from '#shared/contracts/watches/watch.ts';
import {
  hasNewRules,
  hasNewTag,
  headTimeOf,
  judgeAge,
  type MemberCheck,
  mayBeOfDroppedFork,
} from './judge-age.ts';

/** A role in an event; `before` is `null` if it was never decided before. */
export type RoleChange = { readonly id: string; readonly granted: boolean; readonly before: boolean | null };

/** The change of a member to send to the client; `changes` lists all decided roles, changed ones
 * first. */
export type MemberEvent = {
  readonly cause: EventCause;
  readonly sequence: number;
  readonly changes: readonly RoleChange[];
};

export type Applied = {
  readonly member: WatchMember;
  /** Absent: nothing is sent to the client. */
  readonly event?: MemberEvent;
  /** Roles that this step revoked, as the event says. */
  readonly revoked: readonly string[];
  /** The check was not applied, and only a new one can tell whether it was right. */
  readonly isToRecheck?: true;
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
 * A withheld role counts as granted in every event, because that was the last event to the client.
 */

/** Whether the check decides a role in another way than the member's last verdict. */
const differs = ({ roles }: WatchMember, { verdicts }: MemberCheck): boolean =>
  [...verdicts].some(
    ([id, verdict]) => verdict !== undefined && verdict !== roles.find((role) => role.id === id)?.granted,
  );

/** Roles that the check would revoke at once: those that no sweep decides on, and that are not held
 * already. */
export function revocationsOf(member: WatchMember, check: MemberCheck): string[] {
  if (check.sweep !== undefined || judgeAge(member, check) !== 'current') return [];
  const areRulesNew = hasNewRules(member, check);
  return member.roles
    .filter(
      ({ id, granted, withheld }) =>
        granted && (areRulesNew || !isHeld(withheld)) && check.verdicts.get(id) === false,
    )
    .map(({ id }) => id);
}

/**
 * Applies a check to a member. A role that could not be read keeps its last verdict; a role that
 * the rule set lost is dropped. A check that is not current changes no role. If it may have found
 * something that no later check has read, the member is checked again.
 *
 * @param hold revocations of these roles are held back, since then
 */
export function applyCheck(
  member: WatchMember,
  check: MemberCheck,
  hold: { readonly roles: ReadonlySet<string>; readonly at: string } = { roles: new Set(), at: '' },
): Applied {
  const age = judgeAge(member, check);
  if (age === 'stale') return { member, revoked: [] };
  if (age === 'outdated') return recheckOutdated(member, check);
  if (mayBeOfDroppedFork(check)) return recheck(member, check, missedBlocks(member, check, {}));
  if (age !== 'current') return recheckIfNeeded(member, check, age);
  const before = new Map(member.roles.map((role) => [role.id, role]));
  const areRulesNew = hasNewRules(member, check);
  const roles: MemberRole[] = [];
  for (const [id, verdict] of check.verdicts) {
    const role = nextRole(before.get(id), id, verdict, check, { hold, areRulesNew });
    if (role) roles.push(role);
  }
  const known = isRead(member) ? member : withoutUnread(member);
  const awaitedBlocks = awaitedBlocksOf(member, check);
  // A chain that could not be read under a new tag has no block under it yet.
  const { blockNumbers, headTimes } = hasNewTag(member, check) ? { blockNumbers: {}, headTimes: {} } : member;
  const unreadSince = unreadSinceOf(member, check, awaitedBlocks !== undefined);
  const checked: WatchMember = {
    ...known,
    roles: sameOrNew(member.roles, roles),
    checkedAt: check.evaluatedAt,
    ...(unreadSince === undefined ? {} : { unreadSince }),
    ...(awaitedBlocks === undefined ? {} : { awaitedBlocks }),
    blockNumbers: { ...blockNumbers, ...check.blockNumbers },
    headTimes: { ...headTimes, ...(check.headTimes ?? headTimesOf(check)) },
    errors: [...check.errors],
    rules: member.rules?.name === check.rules ? member.rules : { name: check.rules, askedAt: check.askedAt },
    ...(check.reorgFrom === undefined ? {} : { reorgedAt: check.evaluatedAt }),
  };
  return withEvent(member, checked, check.cause);
}

/**
 * An endpoint that lags behind must not hide the transfer, the new rules or the unread role that
 * this check was requested for: the member is checked again. A transfer is missed also if the
 * verdicts are the same: they may depend on several chains.
 */
function recheckIfNeeded(member: WatchMember, check: MemberCheck, age: 'behind' | 'contradicted'): Applied {
  const unchanged: Applied = { member, revoked: [] };
  const missed = missedBlocks(member, check, check.blockNumbers);
  if (!differs(member, check) && !isUnread(check) && missed.length === 0) return unchanged;
  if (age === 'contradicted' && missed.length === 0)
    return differs(member, check) ? { ...unchanged, isToRecheck: true } : unchanged;
  if (missed.length === 0 && !hasNewRules(member, check) && !isUnread(member)) return unchanged;
  return recheck(member, check, missed);
}

/** A check of a sweep is not repeated: a sweep by the present rules follows. Any other is, after a
 * reorg from the known block on. */
function recheckOutdated(member: WatchMember, check: MemberCheck): Applied {
  if (check.sweep !== undefined) return { member, revoked: [] };
  const missed = missedBlocks(member, check, {});
  return missed.length > 0 ? recheck(member, check, missed) : { member, revoked: [], isToRecheck: true };
}

/**
 * The blocks that a later check must have reached: of the check's transfer, or after a reorg the
 * known one.
 *
 * @param read by chain id, the blocks that count as read
 */
function missedBlocks(
  { blockNumbers }: WatchMember,
  { minBlock, reorgFrom }: Pick<MemberCheck, 'minBlock' | 'reorgFrom'>,
  read: MemberCheck['blockNumbers'],
): BlockOfChain[] {
  const ofTransfer = Object.entries(minBlock ?? {}).filter(
    ([id, number]) => number > (blockNumbers[id] ?? 0),
  );
  const known = Object.keys(reorgFrom ?? {}).map((id): BlockOfChain => [id, blockNumbers[id] ?? 0]);
  return [...known.filter(([id, number]) => number > (read[id] ?? 0)), ...ofTransfer];
}

/**
 * Has a member checked whose check could not be requested: at the block of the transfer or a later
 * one, and after a reorg at the known block or a later one. Without a reorg, a member whose last
 * check has read that block is left as it is.
 */
export function awaitBlocks(member: WatchMember, transfer: Transfer): Applied {
  const missed = missedBlocks(member, transfer, {});
  return missed.length > 0
    ? recheck(member, { ...transfer, cause: 'transfer' }, missed)
    : { member, revoked: [] };
}

type Transfer = Pick<MemberCheck, 'minBlock' | 'reorgFrom' | 'evaluatedAt'>;
type BlockOfChain = readonly [chainId: string, number: number];

/** Requests checks of the member until one has read these blocks. */
function recheck(
  member: WatchMember,
  check: Pick<MemberCheck, 'cause' | 'minBlock' | 'evaluatedAt'>,
  missed: readonly BlockOfChain[],
): Applied {
  const awaitedBlocks = { ...member.awaitedBlocks };
  for (const [id, number] of missed) awaitedBlocks[id] = Math.max(number, awaitedBlocks[id] ?? 0);
  const isNew = member.unreadSince === undefined || isOfNewTransfer(member.awaitedBlocks, check);
  return {
    member: {
      ...member,
      ...(missed.length > 0 ? { awaitedBlocks } : {}),
      ...(isNew ? { unreadSince: check.evaluatedAt } : {}),
    },
    revoked: [],
    isToRecheck: true,
  };
}

const isUnread = ({ errors }: Pick<MemberCheck, 'errors'>): boolean =>
  errors.some(({ retryable }) => retryable);

const headTimesOf = (check: MemberCheck): Record<string, number> =>
  Object.fromEntries(Object.keys(check.blockNumbers).map((id) => [id, headTimeOf(check, id)]));

/** The blocks of transfers that no check could read yet: a retry that reads older blocks does not
 * settle them. */
function awaitedBlocksOf(member: WatchMember, check: MemberCheck): Record<string, number> | undefined {
  if (member.awaitedBlocks === undefined && check.minBlock === undefined) return undefined;
  const awaited = { ...member.awaitedBlocks };
  if (isUnread(check))
    for (const [id, number] of Object.entries(check.minBlock ?? {}))
      awaited[id] = Math.max(number, awaited[id] ?? 0);
  // A chain without a block has no rule in the rule set any more.
  else
    for (const [id, number] of Object.entries(awaited))
      if ((check.blockNumbers[id] ?? Infinity) >= number) delete awaited[id];
  return Object.keys(awaited).length === 0 ? undefined : awaited;
}

/** A sweep comes again by itself; a transfer that could not be read starts over. */
function unreadSinceOf(
  { unreadSince, awaitedBlocks }: WatchMember,
  check: MemberCheck,
  isAwaiting: boolean,
): string | undefined {
  if (!isUnread(check)) return isAwaiting ? (unreadSince ?? check.evaluatedAt) : undefined;
  if (check.sweep !== undefined) return unreadSince;
  return isOfNewTransfer(awaitedBlocks, check) ? check.evaluatedAt : (unreadSince ?? check.evaluatedAt);
}

/** Whether it is the first check of a transfer, and not the retry of an unread one. */
const isOfNewTransfer = (
  awaited: WatchMember['awaitedBlocks'] = {},
  { cause, minBlock }: Pick<MemberCheck, 'cause' | 'minBlock'>,
): boolean =>
  cause === 'transfer' &&
  (minBlock === undefined || Object.entries(minBlock).some(([id, number]) => number > (awaited[id] ?? -1)));

function nextRole(
  known: MemberRole | undefined,
  id: string,
  verdict: boolean | undefined,
  { evaluatedAt, sweep, isLate }: MemberCheck,
  { hold, areRulesNew }: { hold: { roles: ReadonlySet<string>; at: string }; areRulesNew: boolean },
): MemberRole | undefined {
  // A revocation that other rules found is dropped: only a verdict by the new ones can revoke.
  const role = known && areRulesNew ? withoutWithheld(known) : known;
  if (verdict === undefined) return role;
  if (role === undefined) return { id, granted: verdict, since: evaluatedAt };
  // Granted again: the withheld revocation is dropped.
  if (role.granted === verdict) return withoutWithheld(role);
  if (verdict) return { id, granted: true, since: evaluatedAt };
  if (isLate) return known;
  if (isHeld(role.withheld)) return role;
  if (sweep !== undefined) return { ...role, withheld: { sweep } };
  if (hold.roles.has(id)) return { ...role, withheld: { heldAt: hold.at } };
  return { id, granted: false, since: evaluatedAt };
}

/** Ends a sweep for a member: sends the sweep's changes, except for the roles to hold. */
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
    return holdRoles.has(role.id)
      ? { ...role, withheld: { heldAt: at } }
      : { id: role.id, granted: false, since: at };
  });
  return withEvent(member, { ...member, roles: sameOrNew(member.roles, roles) }, cause);
}

/** Sends the revocations that were held by `at`: a release that is processed again does not send
 * later ones. */
export function releaseHeld(member: WatchMember, at: string): Applied {
  const isReleased = ({ withheld }: MemberRole): boolean =>
    isHeld(withheld) && (withheld?.heldAt === undefined || withheld.heldAt <= at);
  const roles = member.roles.map((role) =>
    isReleased(role) ? { id: role.id, granted: false, since: at } : role,
  );
  return withEvent(member, { ...member, roles: sameOrNew(member.roles, roles) }, 'release');
}

/** The roles as they were, where none of them has changed. */
const sameOrNew = (before: MemberRole[], after: MemberRole[]): MemberRole[] =>
  before.length === after.length && before.every((role, i) => role === after[i]) ? before : after;

function withEvent(before: WatchMember, after: WatchMember, cause: EventCause): Applied {
  if (before.roles === after.roles) return { member: after, revoked: [] };
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

const isHeld = (withheld: MemberRole['withheld']): boolean =>
  withheld !== undefined && withheld.sweep === undefined;

/** Whether nothing of a member is known to be unread. */
const isRead = ({ unreadSince, awaitedBlocks }: WatchMember): boolean =>
  unreadSince === undefined && awaitedBlocks === undefined;

const withoutUnread = ({ unreadSince: _, awaitedBlocks: __, ...member }: WatchMember): WatchMember => member;
