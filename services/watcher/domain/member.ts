import {
  type Checked,
  type EventCause,
  graceEndsOf,
  type HeldBack,
  isHeld,
  isPending,
  type MemberRole,
  type Owed,
  type WatchMember,
  withoutHeldBack,
} from '#shared/contracts/watches/watch.ts';
import type { CheckCause, Transfer, Why } from '#shared/contracts/watches/watch-check.ts';
import {
  type Answer,
  blockTagOf,
  hasUnseen,
  judgeAnswer,
  type Present,
  provesFalse,
  withinReach,
} from './judge-answer.ts';

/** A role in an event; `before` is `null` if it was never decided before. */
export type RoleChange = { readonly id: string; readonly granted: boolean; readonly before: boolean | null };

/** The change of a member to send to the client; `changes` lists all decided roles, changed ones
 * first. */
export type MemberEvent = {
  readonly cause: EventCause;
  readonly transfer?: Transfer | undefined;
  readonly sequence: number;
  readonly changes: readonly RoleChange[];
  /** By role, the details of its rules at the first check that denied it. */
  readonly details: ReadonlyMap<string, string>;
};

export type Applied = {
  readonly member: WatchMember;
  /** Absent: nothing is sent to the client. */
  readonly event?: MemberEvent;
  /** Roles that this step revoked, as the event says. */
  readonly revoked: readonly string[];
  /** The answer was dropped, and the member owes another check. */
  readonly isDropped?: true;
};

export type Rules = Present & {
  readonly graceSeconds: number;
  /** By role, the chains that its rules read. */
  readonly chainsOf: ReadonlyMap<string, ReadonlySet<string>>;
  /** By role, the details of its rules, for events that explain. */
  readonly details?: ReadonlyMap<string, string> | undefined;
};

/** Revocations of these roles would be too many, and are held. */
type Hold = { readonly roles: ReadonlySet<string>; readonly at: string };
const NO_HOLD: Hold = { roles: new Set(), at: '' };

const unchanged = (member: WatchMember): Applied => ({ member, revoked: [] });

/** What happens to a member when a check of it is answered: README.md, "The life of a member". */
export function applyAnswer(member: WatchMember, answer: Answer, rules: Rules, hold = NO_HOLD): Applied {
  const judgement = judgeAnswer(member, answer, rules);
  if (judgement === 'dropped') return unchanged(member);
  const due = owing(member, { since: answer.evaluatedAt, blocks: answer.owed, why: answer.why });
  if (judgement === 'owed') return { ...unchanged(due), isDropped: true };
  const { checked } = member;
  const { cause } = answer.why;
  const why = whyOf(cause, cause === 'transfer' ? due.owed?.why.transfer : undefined);
  const areRulesNew = checked !== undefined && checked.rules !== answer.rules;
  const before = new Map(member.roles.map((role) => [role.id, role]));
  const roles = [...answer.verdicts].flatMap(([id, verdict]) => {
    const known = before.get(id);
    const role = known && areRulesNew ? withoutHeldBack(known) : known;
    return nextRole(role, id, verdict, { member, answer: { ...answer, why }, rules, hold }) ?? [];
  });
  const { owed: _, ...rest } = member;
  const owed = owedAfter(due.owed, member.owed, answer, rules) ?? owedLook(due.owed, roles, answer);
  const after: WatchMember = {
    ...rest,
    roles: sameOrNew(member.roles, roles),
    checked: checkedBy(answer, checked),
    ...(owed === undefined ? {} : { owed }),
  };
  return withEvent(member, after, why, rules.details);
}

/** Blocks of another block tag say nothing of this one. */
const checkedBy = (
  { evaluatedAt: at, rules, read, errors }: Answer,
  before: Checked | undefined,
): Checked => ({
  at,
  rules,
  seen: {
    ...(blockTagOf(before?.rules) === blockTagOf(rules) ? before?.seen : {}),
    ...Object.fromEntries(Object.entries(read).map(([id, { block, askedAt }]) => [id, { block, askedAt }])),
  },
  errors: [...errors],
});

/** Has a member owe a check that reads these blocks, unless it has seen them. */
export function owe(member: WatchMember, owed: Owed, present: Present): Applied {
  return hasUnseen(member, owed.blocks, present)
    ? { ...unchanged(owing(member, owed)), isDropped: true }
    : unchanged(member);
}

type Settlement = {
  readonly sweeps: readonly number[];
  readonly holdRoles: ReadonlySet<string>;
  readonly at: string;
};

/** Ends sweeps for a member: sends what they hold back, but holds it of these roles. What former
 * rules denied is dropped, and a check by the present ones is owed. */
export function settleSweeps(
  member: WatchMember,
  { sweeps, holdRoles, at }: Settlement,
  { rules }: Pick<Present, 'rules'>,
): Applied {
  if (rules === undefined) return unchanged(member);
  const isOutdated = member.checked?.rules !== rules;
  const settled = decideHeldBack(member, at, (back, id) => {
    if (back.sweep === undefined || isPending(back) || !sweeps.includes(back.sweep)) return 'stays';
    if (isOutdated) return 'dropped';
    return holdRoles.has(id) ? 'held' : 'sent';
  });
  if (!isOutdated || settled.member.roles === member.roles) return settled;
  return unchanged(owing(settled.member, { since: at, blocks: {}, why: { cause: 'rule-set' } }));
}

/** Sends the revocations that were held by `at`: a release that is processed again does not send
 * later ones. */
export const releaseHeld = (member: WatchMember, at: string): Applied =>
  decideHeldBack(member, at, (back) => (isHeld(back) && back.since <= at ? 'sent' : 'stays'), 'release');

/**
 * When a member is to be checked by itself, epoch ms: it is owed a check, or the grace of a
 * revocation ends.
 *
 * @param isDropped whether an answer was dropped, not unread
 * @param isSoon whether the shortest wait is enough: the first one, or for all that the chain owes
 */
export function dueAtOf(
  member: WatchMember,
  nowMs: number,
  { isDropped = false, isSoon = false }: { readonly isDropped?: boolean; readonly isSoon?: boolean } = {},
): number | undefined {
  const { owed } = member;
  const looks = graceEndsOf(member);
  if (owed === undefined) return looks.length === 0 ? undefined : Math.max(nowMs, Math.min(...looks));
  const firstMs = isDropped ? RETRY_MS.dropped : RETRY_MS.unread;
  const owedMs = Math.max(firstMs, Math.min(nowMs - Date.parse(owed.since), RETRY_MS.max));
  const retryAtMs = nowMs + (isSoon ? firstMs : owedMs);
  // A look that is over and could not be made is owed.
  return Math.min(retryAtMs, ...looks.filter((atMs) => atMs > nowMs));
}

/** Waits between checks of a member that is owed one: after a dropped answer, longer than an
 * evaluator goes on using the head whose age made the answer void. */
const RETRY_MS = { dropped: 600, unread: 5_000, max: 600_000 } as const;

type EventWhy = { readonly cause: EventCause; readonly transfer?: Transfer | undefined };
type Ctx = { member: WatchMember; answer: Answer; rules: Rules; hold: Hold };

function nextRole(
  role: MemberRole | undefined,
  id: string,
  verdict: boolean | undefined,
  { member, answer, rules, hold }: Ctx,
): MemberRole | undefined {
  const { evaluatedAt, sweep } = answer;
  if (verdict === undefined) return unreadRole(role, sweep);
  if (role === undefined || (verdict && !role.granted)) return { id, granted: verdict, since: evaluatedAt };
  // Granted again: held-back revocations are dropped.
  if (role.granted === verdict) return withoutHeldBack(role);
  const { heldBack: back } = role;
  if (back && isHeld(back)) return role;
  if (back && isPending(back) && !(isLookDue(back, evaluatedAt) && isLater(member, answer, rules, id)))
    return role;
  if (back?.graceUntil !== undefined && back.sweep !== undefined)
    return back.looked ? role : { ...role, heldBack: { ...back, looked: true } };
  const { graceUntil, answeredBy: _, ...first } = back ?? firstDenial(answer, rules, id);
  if (back === undefined && rules.graceSeconds > 0)
    return {
      ...role,
      heldBack: {
        ...first,
        graceUntil: afterGrace(evaluatedAt, rules),
        answeredBy: answer.answeredBy,
        sweep,
      },
    };
  if (sweep !== undefined) return { ...role, heldBack: { ...first, sweep } };
  if (hold.roles.has(id)) return { ...role, heldBack: { ...heldFrom(first), since: hold.at } };
  return { id, granted: false, since: evaluatedAt };
}

/** What a later sweep could not read is looked at again before it is sent: after a pause, the second
 * check may be of long ago. */
const unreadRole = (role: MemberRole | undefined, sweep: number | undefined): MemberRole | undefined =>
  role?.heldBack?.looked && sweep !== undefined && sweep !== role.heldBack.sweep
    ? { ...role, heldBack: { ...role.heldBack, looked: false } }
    : role;

const firstDenial = ({ evaluatedAt, why }: Answer, { details }: Rules, id: string): HeldBack => ({
  since: evaluatedAt,
  why,
  details: details?.get(id),
});

const afterGrace = (at: string, { graceSeconds }: Rules): string =>
  new Date(Date.parse(at) + graceSeconds * 1_000).toISOString();

/** What remains of a revocation that is held: nothing but a release ends it. */
const heldFrom = ({ since, why, details }: HeldBack): HeldBack => ({ since, why, details });

/** Whether an answer has read a later block than the checks before it, on each chain of a role. */
const isLater = ({ checked }: WatchMember, { read }: Answer, { chainsOf }: Rules, roleId: string): boolean =>
  [...(chainsOf.get(roleId) ?? Object.keys(read))].every(
    (chainId) => (read[chainId]?.block ?? -1) > (checked?.seen[chainId]?.block ?? -1),
  );

const CAUSE_RANK: Readonly<Record<CheckCause, number>> = { schedule: 0, 'rule-set': 1, transfer: 2 };

/** A member that owes blocks beside what it owes already. A transfer that is new starts anew. */
function owing(member: WatchMember, { since, blocks, why }: Owed): WatchMember {
  const { owed } = member;
  const isTransfer = why.cause === 'transfer';
  const isNew =
    owed === undefined ||
    (isTransfer && Object.entries(blocks).some(([id, block]) => block > (owed.blocks[id] ?? -1)));
  const merged = { ...owed?.blocks };
  for (const [id, block] of Object.entries(blocks)) merged[id] = Math.max(block, merged[id] ?? 0);
  // Not the known one where a new check of transfers has none: a reorg has dropped it.
  const transfer = why.transfer ?? (isNew && isTransfer ? undefined : owed?.why.transfer);
  const isLess = owed !== undefined && CAUSE_RANK[owed.why.cause] > CAUSE_RANK[why.cause];
  const cause = isLess ? owed.why.cause : why.cause;
  return {
    ...member,
    owed: { since: isNew ? since : owed.since, blocks: merged, why: whyOf(cause, transfer) },
  };
}

const whyOf = (cause: CheckCause, transfer: Transfer | undefined): Why =>
  transfer === undefined ? { cause } : { cause, transfer };

/**
 * What is still owed after an answer was applied.
 *
 * @param all with what the answer had to read
 * @param before what was owed before
 */
function owedAfter(
  all: Owed | undefined,
  before: Owed | undefined,
  answer: Answer,
  { reached }: Present,
): Owed | undefined {
  const unread = answer.errors.filter(({ retryable }) => retryable).map(({ chainId }) => String(chainId));
  if (unread.length > 0 && answer.forgives && before === undefined) return undefined;
  if (all === undefined) return undefined;
  const blocks: Record<string, number> = {};
  for (const [id, block] of Object.entries(withinReach(all.blocks, reached))) {
    const read = answer.read[id];
    const isOpen = read && read.block < block && !provesFalse(read, Date.parse(all.since));
    // A chain without a block has no rule any more.
    if (unread.length > 0 || isOpen) blocks[id] = block;
  }
  for (const id of unread) blocks[id] ??= 0;
  return Object.keys(blocks).length === 0 ? undefined : { ...all, blocks };
}

/** A second look that was due and decided nothing is owed, so that the waits for the next one
 * double. */
const owedLook = (
  all: Owed | undefined,
  roles: readonly MemberRole[],
  { evaluatedAt }: Answer,
): Owed | undefined =>
  all && roles.some(({ heldBack }) => heldBack && isPending(heldBack) && isLookDue(heldBack, evaluatedAt))
    ? { ...all, blocks: {} }
    : undefined;

const isLookDue = ({ graceUntil = '' }: HeldBack, at: string): boolean => graceUntil <= at;

function decideHeldBack(
  member: WatchMember,
  at: string,
  decide: (back: HeldBack, id: string) => 'stays' | 'dropped' | 'held' | 'sent',
  cause?: EventCause,
): Applied {
  const roles = member.roles.map((role) => {
    const { id, heldBack } = role;
    const decision = heldBack ? decide(heldBack, id) : 'stays';
    if (heldBack === undefined || decision === 'stays') return role;
    if (decision === 'dropped') return withoutHeldBack(role);
    return decision === 'held'
      ? { ...role, heldBack: { ...heldFrom(heldBack), since: at } }
      : { id, granted: false, since: at };
  });
  return withEvent(member, { ...member, roles: sameOrNew(member.roles, roles) }, cause && { cause });
}

/** The roles as they were, where none of them has changed. */
const sameOrNew = (before: MemberRole[], after: MemberRole[]): MemberRole[] =>
  before.length === after.length && before.every((role, i) => role === after[i]) ? before : after;

/**
 * @param cause absent: of the first check that denied a role that was held back
 * @param details of the check that decides now
 */
function withEvent(
  before: WatchMember,
  after: WatchMember,
  cause?: EventWhy,
  details?: ReadonlyMap<string, string>,
): Applied {
  if (before.roles === after.roles) return unchanged(after);
  const known = new Map(before.roles.map((role) => [role.id, role]));
  const all = after.roles.map(({ id, granted }) => ({ id, granted, before: known.get(id)?.granted ?? null }));
  const changed = all.filter((role) => role.granted !== role.before);
  const revoked = changed.filter((role) => role.before === true).map(({ id }) => id);
  if (changed.length === 0) return { member: after, revoked };
  const sequence = before.sequence + 1;
  // A held-back revocation has the cause of its first check.
  const backs = revoked.flatMap((id) => known.get(id)?.heldBack ?? []);
  const first = cause ? backs.find(({ graceUntil }) => graceUntil !== undefined) : backs[0];
  const why: EventWhy = (cause?.cause === 'release' ? cause : (first?.why ?? cause)) ?? { cause: 'schedule' };
  const isFirst = before.sequence === 0;
  return {
    member: { ...after, sequence },
    event: {
      cause: isFirst ? 'first' : why.cause,
      ...(!isFirst && why.cause === 'transfer' && why.transfer ? { transfer: why.transfer } : {}),
      sequence,
      changes: [...changed, ...all.filter((role) => role.granted === role.before)],
      details: new Map(
        changed.flatMap(({ id }) => {
          const text = details?.get(id) ?? known.get(id)?.heldBack?.details;
          return text === undefined ? [] : [[id, text] as const];
        }),
      ),
    },
    revoked,
  };
}
