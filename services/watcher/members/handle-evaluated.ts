import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { z } from 'zod';
import type { BatchPartCompleted } from '#shared/contracts/batches/batch.ts';
import { foldRoles } from '#shared/contracts/checks/fold-roles.ts';
import { RoleVerdict, RuleFault } from '#shared/contracts/checks/result.ts';
import {
  CheckContext,
  isNewMember,
  isPresent,
  type Watch,
  type WatchCommand,
  type WatchEvaluated,
  type WatchMember,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import { memberEventId } from '#shared/contracts/watches/watch-event.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Handler } from '#shared/kafka/consumer/record.ts';
import type { RuleSets } from '#shared/stores/rules/rule-sets.ts';
import type { FollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import type { WatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';
import {
  type Applied,
  applyCheck,
  awaitBlocks,
  releaseHeld,
  revocationsOf,
  settleSweep,
} from '../domain/apply-check.ts';
import { composeRolesChanged } from '../domain/compose-event.ts';
import { countHeld } from '../domain/exceeds-share.ts';
import { findSilentChanges } from '../domain/find-silent-changes.ts';
import { checkedRules, type MemberCheck } from '../domain/judge-age.ts';
import type { WatcherMetrics } from '../metrics.ts';
import type { OpenParts } from './open-parts.ts';
import type { PublishChanges } from './publish-changes.ts';
import type { RefundWatch } from './watch-quota.ts';

/** Concurrent writes should never make a write fail this often: more is a bug. */
const TRIES_MAX = 20;
/** Shortest wait before a check that could not read a chain is repeated outside of sweeps. */
const RETRY_MS = 60_000;

type Dependencies = {
  readonly watches: Pick<Watches, 'readByUid'>;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  readonly members: Pick<
    WatchMembers,
    | 'isDue'
    | 'readMany'
    | 'readInPages'
    | 'write'
    | 'refresh'
    | 'setDue'
    | 'withheld'
    | 'figures'
    | 'mayRevoke'
  >;
  readonly followed: Pick<FollowedContracts, 'noteSilent'>;
  readonly sweeps: Pick<WatchSweeps, 'finish' | 'isOpen' | 'read'>;
  readonly openParts: Pick<OpenParts, 'give'>;
  readonly publishChanges: Pick<PublishChanges, 'publishMember' | 'publishOutbox'>;
  readonly refund: RefundWatch;
  /** Charges the checks of transfers that led to events; a watch beyond its quota is paused. */
  readonly chargeEvents: (watch: Watch, count: number) => Promise<unknown>;
  readonly metrics: Pick<WatcherMetrics, 'countChecks' | 'countEvent'>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** How a member changes; called again with the stored member if another writer changed it first. */
type Change = (member: WatchMember) => Applied;

/**
 * Applies the log of a partition of members, one record after another: the results of checks,
 * decisions on withheld revocations, and transfers whose checks could not be requested. README.md
 * says why a crash at any instant loses no event and repeats none with other content.
 */
export function makeHandleEvaluated(deps: Dependencies): Handler<WatchEvaluated> {
  return async function handleEvaluated(message, { partition }) {
    await deps.publishChanges.publishOutbox(partition);
    if ('command' in message) await applyCommand(deps, message);
    else await applyPart(deps, message, partition);
  };
}

async function applyPart(deps: Dependencies, part: BatchPartCompleted, partition: number): Promise<void> {
  if (part.delivery.mode !== 'watch')
    throw new ServiceError(
      'message-unreadable',
      `delivery.mode must be "watch", not "${part.delivery.mode}"`,
    );
  const context = CheckContext.parse(JSON.parse(part.delivery.context));
  const { watchUid: uid, cause, sweep } = context;
  const watch = await deps.watches.readByUid(uid);
  const [isOpen, ruleSet] = await Promise.all([
    sweep === undefined || deps.sweeps.isOpen(uid, sweep),
    watch && deps.ruleSets.read(watch.clientId, watch.ruleSet),
  ]);
  const isOutdated = !watch || !ruleSet || checkedRules(ruleSet, watch) !== context.rules;
  const checks = await readChecks(part, context, { isLate: !isOpen, isOutdated });
  const members = (await deps.members.readMany(uid, [...checks.keys()])).filter(isPresent);
  await refundPart(deps, part, part.refundCount + countRepeats(members, checks));
  // `resume` starts a sweep, which finds the changes that a paused watch has missed.
  if (watch && !watch.paused) {
    deps.metrics.countChecks(cause, checks.size);
    const held = await holdExcess(deps, watch, members, checks);
    const at = new Date(deps.now()).toISOString();
    const change: Change = (member) => {
      const check = checks.get(member.memberId);
      const hold = { roles: held.get(member.memberId) ?? new Set(), at };
      return check ? applyCheck(member, check, hold) : { member, revoked: [] };
    };
    if (ruleSet && watch.follow)
      await noteSilentChanges(deps, watch, findSilentChanges(members, checks, ruleSet));
    const eventCount = await changeMembers(deps, { watch, partition, members, change });
    if (cause === 'transfer' && eventCount > 0) await deps.chargeEvents(watch, eventCount);
  }
  if (sweep !== undefined) await deps.sweeps.finish(uid, sweep, part.requestId);
  await deps.openParts.give(part.clientId, part.requestId);
}

/** A member that is due may wait for the check of a transfer, which told of the change. */
async function noteSilentChanges(
  { members, followed }: Dependencies,
  watch: Watch,
  changes: ReturnType<typeof findSilentChanges>,
): Promise<void> {
  const uid = watchUid(watch);
  for (const { chainId, contractAddress, member, check } of changes) {
    if (await members.isDue({ uid, memberId: member.memberId })) continue;
    const change = {
      accounts: [...check.accounts],
      blockNumber: check.blockNumbers[String(chainId)] ?? 0,
      foundAt: check.evaluatedAt,
    };
    const contract = { chainId, contractAddress, blockTag: watch.blockTag };
    await followed.noteSilent(uid, contract, change, Date.parse(member.checkedAt ?? ''));
  }
}

/**
 * The checks that were requested again, although the member has had an answer meanwhile: of a new
 * member whose answer was slow, or in a sweep whose requests were interrupted. Undecided ones are
 * refunded anyway.
 */
const countRepeats = (members: readonly WatchMember[], checks: ReadonlyMap<string, MemberCheck>): number =>
  members.filter((member) => {
    const check = checks.get(member.memberId);
    if (!check || isNewMember(member) || member.checkedAt === check.evaluatedAt) return false;
    if (check.sweep !== undefined && Date.parse(member.checkedAt ?? '') < check.sweep) return false;
    return [...check.verdicts.values()].some((verdict) => verdict !== undefined);
  }).length;

/**
 * A check is refunded if nothing was decided and every failure is retryable, as any other check is,
 * and if it repeats an answered check.
 */
async function refundPart({ refund }: Dependencies, part: BatchPartCompleted, count: number): Promise<void> {
  const { clientId, chargedMonth: month, requestId } = part;
  if (month !== undefined && count > 0) await refund({ clientId, month, count, requestId });
}

async function applyCommand(deps: Dependencies, command: WatchCommand): Promise<void> {
  const { watchUid: uid, partition } = command;
  const watch = await deps.watches.readByUid(uid);
  // A pause gives the sweep up, and the checks of transfers: the sweep that `resume` starts decides
  // anew.
  const isGivenUp =
    command.command !== 'release' &&
    (watch?.paused !== undefined ||
      (command.command === 'settle' && (await deps.sweeps.read(uid))?.sweep !== command.sweep));
  if (watch && !isGivenUp)
    for await (const page of deps.members.readInPages(uid, await membersOf(deps, command)))
      await changeMembers(deps, {
        watch,
        partition,
        members: page.filter(isPresent),
        change: (member) => applyDecision(member, command),
        decision: command.command,
      });
  if (command.command === 'settle') await deps.sweeps.finish(uid, command.sweep, `settle/${partition}`);
}

const membersOf = ({ members }: Dependencies, command: WatchCommand): Promise<readonly string[]> =>
  command.command === 'await'
    ? Promise.resolve(command.memberIds)
    : members.withheld(command.watchUid, command.partition);

function applyDecision(member: WatchMember, command: WatchCommand): Applied {
  const { at } = command;
  switch (command.command) {
    case 'release':
      return releaseHeld(member, at);
    case 'settle':
      return settleSweep(member, { ...command, holdRoles: new Set(command.holdRoles) });
    case 'await':
      return awaitBlocks(member, { ...command, evaluatedAt: at });
  }
}

type Changes = {
  readonly watch: Watch;
  readonly partition: number;
  readonly members: readonly WatchMember[];
  readonly change: Change;
  /** The members are not checked: withheld revocations of them are decided on. */
  readonly decision?: WatchCommand['command'];
};

/** Changes members and publishes their changes; returns the number of events. */
async function changeMembers(deps: Dependencies, changes: Changes): Promise<number> {
  const { watch, partition, members } = changes;
  const unchanged: Written[] = [];
  const changed = (
    await Promise.all(
      members.map(async (member) => {
        const next = await writeChange(deps, changes, member);
        if (next?.isChanged === false) unchanged.push(next);
        return next?.isChanged ? next.member : undefined;
      }),
    )
  ).filter((member) => member !== undefined);
  await deps.members.refresh(
    watchUid(watch),
    partition,
    unchanged.map(({ member }) => member),
  );
  await Promise.all(
    unchanged.map(async ({ member, isToRecheck }) => {
      const nowMs = deps.now();
      // At once, and then at doubling intervals. The first check of a new member is pending, and is
      // charged each time.
      const dueAtMs = isToRecheck
        ? (dueAfter(member, watch, nowMs, isNewMember(member) ? RETRY_MS : 0) ?? nowMs)
        : dueAfter(member, watch, nowMs);
      const { memberId } = member;
      if (dueAtMs !== undefined) await deps.members.setDue([{ uid: watchUid(watch), memberId }], dueAtMs);
    }),
  );
  await Promise.all(changed.map((member) => deps.publishChanges.publishMember(watch, member)));
  return changed.filter(({ event }) => event !== undefined).length;
}

/** A member after a change; if it has not changed for the topic, the view alone is to be
 * refreshed. */
type Written = { readonly member: WatchMember; readonly isChanged: boolean; readonly isToRecheck?: true };

/** Undefined if nothing changed: the member is gone, the check is stale, or the decision does not
 * concern the member. */
async function writeChange(
  { members: view, now, metrics }: Dependencies,
  { watch, change, decision }: Changes,
  read: WatchMember,
): Promise<Written | undefined> {
  const uid = watchUid(watch);
  let before: WatchMember | undefined = read;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (!isPresent(before)) return undefined;
    const nowMs = now();
    const { member, event, isToRecheck } = change(before);
    if (isToRecheck) return { member, isChanged: false, isToRecheck };
    if (!isToPublish(before, member))
      return member === before || decision ? undefined : { member, isChanged: false };
    const { event: _, ...rest } = member;
    const at = new Date(nowMs).toISOString();
    const composed = event && composeRolesChanged(member, event, memberEventId(member, event.sequence), at);
    const after: WatchMember = {
      ...rest,
      version: Math.max(nowMs, before.version + 1),
      ...(composed === undefined ? {} : { event: composed }),
    };
    // A decision leaves a member due whose new wallets were not checked yet.
    const dueAtMs = decision && isNewMember(member) ? nowMs : dueAfter(member, watch, nowMs);
    if (await view.write(before, after, nowMs, { dueAtMs, countsRevoked: decision !== 'release' })) {
      if (event) metrics.countEvent(event.cause);
      return { member: after, isChanged: true };
    }
    [before] = await view.readMany(uid, [read.memberId]);
  }
  throw new ServiceError('overloaded', 'too many concurrent writes to this member');
}

/** When to check an unread member again: after as long as it has been unread, so that the waits
 * double. */
function dueAfter(
  { unreadSince }: WatchMember,
  { everySeconds }: Watch,
  nowMs: number,
  waitMsMin = RETRY_MS,
): number | undefined {
  if (unreadSince === undefined) return undefined;
  return nowMs + Math.min(Math.max(nowMs - Date.parse(unreadSince), waitMsMin), everySeconds * 1_000);
}

/** Whether the topic needs the new state: only the view holds when and at which block a member was
 * checked last. */
const isToPublish = (before: WatchMember, after: WatchMember): boolean =>
  // Compared by identity: equal roles and rules are the same objects.
  before.roles !== after.roles ||
  before.rules !== after.rules ||
  before.reorgedAt !== after.reorgedAt ||
  // Otherwise a rebuild of the view would have the member checked again.
  isNewMember(before) !== isNewMember(after);

const inflate = promisify(gunzip);

const Line = z.object({
  index: z.number().int(),
  account: z.string().optional(),
  accounts: z.array(z.string()).optional(),
  /** Missing if the entry could not be parsed. */
  ref: z.string().optional(),
  roles: z.array(RoleVerdict),
  errors: z.array(RuleFault),
  blockNumbers: z.record(z.string(), z.number()),
});

/** The checks in a part's result, by member id. */
async function readChecks(
  part: BatchPartCompleted,
  { cause, rules, sweep, reorgFrom, reorgKnownAt, minBlock, walletTimes }: CheckContext,
  state: Pick<MemberCheck, 'isLate' | 'isOutdated'>,
): Promise<Map<string, MemberCheck>> {
  // A part that the evaluator could not parse names no roles: it says nothing of its members.
  if (part.roles.length === 0) return new Map();
  const text = (await inflate(Buffer.from(part.linesGzip, 'base64'))).toString();
  const checks = new Map<string, MemberCheck>();
  for (const json of text.split('\n')) {
    if (json === '') continue;
    const {
      index,
      account,
      accounts = account === undefined ? [] : [account],
      ref,
      ...line
    } = Line.parse(JSON.parse(json));
    if (ref === undefined) continue;
    const outcomes = foldRoles(line);
    const verdicts = part.roles.map(({ id }) => {
      const outcome = outcomes.get(id);
      const isDecided = outcome === 'granted' || outcome === 'denied';
      return [id, isDecided ? outcome === 'granted' : undefined] as const;
    });
    checks.set(ref, {
      cause,
      rules,
      sweep,
      ...state,
      reorgFrom,
      reorgKnownAt,
      minBlock,
      headTimes: part.headTimes,
      blockTimes: part.blockTimes,
      accounts: accounts.map((each) => each.toLowerCase()),
      verdicts: new Map(verdicts),
      blockNumbers: line.blockNumbers,
      errors: line.errors,
      evaluatedAt: part.evaluatedAt,
      askedAt: part.acceptedAt,
      walletsAtMs: walletTimes?.[index],
    });
  }
  return checks;
}

/** By member id, the roles whose revocation would exceed the bound on revocations per hour. */
async function holdExcess(
  { members: view, now }: Dependencies,
  watch: Watch,
  members: readonly WatchMember[],
  checks: ReadonlyMap<string, MemberCheck>,
): Promise<Map<string, Set<string>>> {
  const byRole = new Map<string, string[]>();
  for (const member of members) {
    const check = checks.get(member.memberId);
    for (const roleId of check ? revocationsOf(member, check) : [])
      byRole.set(roleId, [...(byRole.get(roleId) ?? []), member.memberId]);
  }
  const excess = new Map<string, Set<string>>();
  if (byRole.size === 0) return excess;
  const uid = watchUid(watch);
  const { holders, held } = await view.figures(uid);
  for (const [roleId, memberIds] of byRole) {
    const allowed = await view.mayRevoke(uid, roleId, memberIds, {
      nowMs: now(),
      holders: holders.get(roleId) ?? 0,
      held: countHeld(watch, held, roleId),
      ...watch.massRevocation,
    });
    for (const memberId of memberIds.filter((id) => !allowed.has(id)))
      excess.set(memberId, new Set([...(excess.get(memberId) ?? []), roleId]));
  }
  return excess;
}
