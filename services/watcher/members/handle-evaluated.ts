import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { z } from 'zod';
import type { BatchPartCompleted } from '#shared/contracts/batches/batch.ts';
import { foldRoles } from '#shared/contracts/checks/fold-roles.ts';
import { RoleVerdict, RuleFault } from '#shared/contracts/checks/result.ts';
import { simpleRulesOf } from '#shared/contracts/rules/rule.ts';
import { type RuleSet, rulesOf } from '#shared/contracts/rules/rule-set.ts';
import {
  accountsOf,
  type EventCause,
  isPresent,
  type Watch,
  type WatchCommand,
  type WatchEvaluated,
  type WatchMember,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import type { WatchCheck } from '#shared/contracts/watches/watch-check.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Handler } from '#shared/kafka/consumer/record.ts';
import type { Dependencies } from '../dependencies.ts';
import { composeRolesChanged } from '../domain/compose-event.ts';
import { countHeld } from '../domain/exceeds-share.ts';
import { findSilentChanges } from '../domain/find-silent-changes.ts';
import { type Answer, judgeAnswer, type Present, rulesStampOf } from '../domain/judge-answer.ts';
import {
  type Applied,
  applyAnswer,
  dueAtOf,
  owe,
  type Rules,
  releaseHeld,
  settleSweeps,
} from '../domain/member.ts';
import { reachedBlocks } from './check-due.ts';
import { chargeChecks } from './request-checks.ts';

/** Concurrent writes should never make a write fail this often: more is a bug. */
const TRIES_MAX = 20;

/** How a member changes; called again with the stored member if another writer changed it first. */
type Change = (member: WatchMember) => Applied;

/**
 * Applies the log of a partition of members, one record after another: the results of checks,
 * decisions on revocations that are held back, and transfers whose checks could not be requested. README.md
 * says why a crash at any instant loses no event and repeats none with other content.
 */
export function makeHandleEvaluated(deps: Dependencies): Handler<WatchEvaluated> {
  return async function handleEvaluated(message, { partition }) {
    await deps.publishOutbox(partition);
    if ('command' in message) await applyCommand(deps, message);
    else await applyPart(deps, message);
  };
}

async function applyPart(deps: Dependencies, part: BatchPartCompleted): Promise<void> {
  if (part.delivery.mode !== 'watch')
    throw new ServiceError(
      'message-unreadable',
      `delivery.mode must be "watch", not "${part.delivery.mode}"`,
    );
  const { check } = part.delivery;
  const { watchUid: uid, sweep } = check;
  const { cause } = check.why;
  const watch = await deps.watches.readByUid(uid);
  const ruleSet = watch && (await deps.ruleSets.read(watch.clientId, watch.ruleSet));
  const answers = await readAnswers(part, check);
  const members = (await deps.members.readMany(uid, [...answers.keys()])).filter(isPresent);
  // `resume` starts a sweep, which finds the changes that a paused watch has missed.
  const isActive = watch !== undefined && ruleSet !== undefined && !watch.paused;
  const chainIds = [...answers.values()].flatMap(({ read, owed: of }) => Object.keys({ ...read, ...of }));
  const present = isActive ? await presentOf(deps, watch, ruleSet, chainIds) : undefined;
  const refundCount = part.refundCount + countRepeats(members, answers, present);
  const { clientId, chargedMonth: month, requestId } = part;
  // A check is refunded if nothing was decided and every failure is retryable, as any other check
  // is, and if it repeats an answered check or is itself repeated.
  if (month !== undefined && refundCount > 0)
    await deps.quota.refund({ clientId, month, count: refundCount, requestId });
  if (isActive && present) {
    deps.metrics.countChecks(cause, answers.size);
    const rules: Rules = {
      ...present,
      graceSeconds: watch.graceSeconds,
      chainsOf: chainsByRole(ruleSet),
    };
    const held = await holdExcess(deps, watch, members, answers, rules);
    const at = isoOf(deps.now());
    const heldBackBy = await sweepOf(deps, uid, sweep);
    const change: Change = (member) => {
      const found = answers.get(member.memberId);
      const answer = found && { ...found, sweep: heldBackBy };
      const hold = { roles: held.get(member.memberId) ?? new Set<string>(), at };
      return answer
        ? applyAnswer(member, answer, { ...rules, details: detailsByRole(answer.details, ruleSet) }, hold)
        : { member, revoked: [] };
    };
    if (watch.follow)
      await noteSilentChanges(deps, watch, findSilentChanges(members, answers, ruleSet, rules));
    const causes = await changeMembers(deps, { watch, members, change, answers });
    // Also a transfer's revocation that a second check has sent.
    const charged = causes.filter((of) => cause === 'transfer' || of === 'transfer').length;
    if (charged > 0)
      await chargeChecks(deps, watch, { count: charged, month: at.slice(0, 7), areEvaluated: true });
  }
  if (sweep !== undefined) await deps.sweeps.finish(uid, sweep, requestId);
  await deps.openParts.give(requestId);
}

/** The sweep that holds back what an answer revokes. One that was decided already has not counted it:
 * it waits for the decision of a later one. */
async function sweepOf(deps: Dependencies, uid: string, sweep: number | undefined) {
  if (sweep === undefined) return undefined;
  const running = await deps.sweeps.read(uid);
  return running?.sweep === sweep && running.decision !== undefined ? deps.now() : sweep;
}

/** What holds for a watch now. The forks are read with each record: a dropped transfer is published
 * after its fork is noted. */
async function presentOf(
  { positions }: Dependencies,
  watch: Watch,
  ruleSet: RuleSet | undefined,
  chainIds: readonly string[],
): Promise<Present> {
  const forks = await Promise.all(
    [...new Set(chainIds)].map(async (chainId) => [chainId, await positions.forks(chainId)] as const),
  );
  return {
    rules: ruleSet && rulesStampOf(ruleSet, watch),
    forks: Object.fromEntries(forks),
    reached: ruleSet && (await reachedBlocks(positions, watch, ruleSet)),
  };
}

function chainsByRole(ruleSet: RuleSet): Rules['chainsOf'] {
  const byRole = new Map<string, Set<string>>();
  for (const rule of rulesOf(ruleSet)) {
    const chains = byRole.get(rule.roleId) ?? new Set();
    byRole.set(rule.roleId, chains);
    for (const { chainId } of simpleRulesOf(rule)) chains.add(String(chainId));
  }
  return byRole;
}

/** A member that is due may wait for the check of a transfer, which told of the change. */
async function noteSilentChanges(
  { members, followed }: Dependencies,
  watch: Watch,
  changes: ReturnType<typeof findSilentChanges>,
): Promise<void> {
  const uid = watchUid(watch);
  for (const { chainId, contractAddress, member, answer } of changes) {
    if (await members.isDue(member)) continue;
    const change = {
      accounts: accountsOf(member),
      blockNumber: answer.read[String(chainId)]?.block ?? 0,
      foundAt: answer.evaluatedAt,
    };
    const contract = { chainId, contractAddress, blockTag: watch.blockTag };
    await followed.noteSilent(uid, contract, change, Date.parse(member.checked?.at ?? ''));
  }
}

/**
 * The checks that were requested again, although the member has had an answer meanwhile: of a new
 * member whose answer was slow, or in a sweep whose requests were interrupted. And those that are to
 * be, and to be charged again: of a new member, by an answer that does not count. Undecided ones are
 * refunded anyway.
 */
const countRepeats = (
  members: readonly WatchMember[],
  answers: ReadonlyMap<string, Answer>,
  present: Present | undefined,
): number =>
  members.filter((member) => {
    const answer = answers.get(member.memberId);
    if (!answer || [...answer.verdicts.values()].every((verdict) => verdict === undefined)) return false;
    const checkedAt = member.checked?.at;
    if (checkedAt === undefined)
      return present !== undefined && judgeAnswer(member, answer, present) === 'owed';
    if (checkedAt === answer.evaluatedAt) return false;
    return answer.sweep === undefined || Date.parse(checkedAt) >= answer.sweep;
  }).length;

async function applyCommand(deps: Dependencies, command: WatchCommand): Promise<void> {
  const { watchUid: uid, partition } = command;
  const watch = await deps.watches.readByUid(uid);
  // A pause ends the sweep, and the checks of transfers: the sweep that `resume` starts decides
  // anew.
  const isGivenUp =
    command.command !== 'release' &&
    (watch?.paused !== undefined ||
      (command.command === 'settle' && (await deps.sweeps.read(uid))?.sweep !== command.sweep));
  if (watch && !isGivenUp) {
    const change = await decisionOf(deps, watch, command);
    for await (const page of membersOf(deps, command)) {
      const members = page.filter(isPresent);
      // Released revocations do not count together with those of the hour.
      if (command.command === 'settle')
        for (const [roleId, ids] of revokedBy(members, change))
          await deps.members.noteRevoked(uid, roleId, ids, Date.parse(command.at));
      await changeMembers(deps, { watch, members, change });
    }
  }
  if (command.command === 'settle') await deps.sweeps.finish(uid, command.sweep, `settle/${partition}`);
}

/** The members that a command is about. All of a partition are looked through for those of whom a
 * revocation is held back, unless there are none. */
async function* membersOf(
  { members }: Dependencies,
  command: WatchCommand,
): AsyncGenerator<readonly (WatchMember | undefined)[]> {
  const { watchUid: uid, partition } = command;
  if (command.command === 'owe') return yield* members.readInPages(uid, command.memberIds);
  const { held, sweeps } = await members.figures(uid);
  const isAnyHeldBack = held.size > 0 || (command.command === 'settle' && sweeps.size > 0);
  if (isAnyHeldBack) yield* members.heldBack(uid, partition);
}

function revokedBy(members: readonly WatchMember[], change: Change): ReadonlyMap<string, string[]> {
  const byRole = new Map<string, string[]>();
  for (const member of members)
    for (const roleId of change(member).revoked)
      byRole.set(roleId, [...(byRole.get(roleId) ?? []), member.memberId]);
  return byRole;
}

async function decisionOf(deps: Dependencies, watch: Watch, command: WatchCommand): Promise<Change> {
  const { at } = command;
  if (command.command === 'release') return (member) => releaseHeld(member, at);
  const ruleSet = await deps.ruleSets.read(watch.clientId, watch.ruleSet);
  if (command.command === 'settle') {
    const settlement = { ...command, holdRoles: new Set(command.holdRoles) };
    const rules = ruleSet && rulesStampOf(ruleSet, watch);
    return (member) => settleSweeps(member, settlement, { rules });
  }
  const { owed } = command;
  const present = await presentOf(deps, watch, ruleSet, Object.keys(owed.blocks));
  return (member) => owe(member, owed, present);
}

type Changes = {
  readonly watch: Watch;
  /** Of one partition. */
  readonly members: readonly WatchMember[];
  readonly change: Change;
  /** By member id; absent: the members are not checked. */
  readonly answers?: ReadonlyMap<string, Answer>;
};

/** Changes members and publishes their changes; returns the causes of the events. */
async function changeMembers(deps: Dependencies, changes: Changes): Promise<readonly EventCause[]> {
  const { watch, members, answers } = changes;
  const uid = watchUid(watch);
  const written = (await Promise.all(members.map((member) => writeChange(deps, changes, member)))).filter(
    (each) => each !== undefined,
  );
  const changed = written.filter(({ isChanged }) => isChanged);
  const unchanged = written.filter(({ isChanged }) => !isChanged);
  await deps.members.refresh(unchanged.map(({ member }) => member));
  await Promise.all(
    unchanged.map(async ({ member, dueAtMs }) => {
      if (dueAtMs !== undefined) await deps.members.setDue([member], dueAtMs);
    }),
  );
  await Promise.all(changed.map(({ member }) => deps.publishMember(watch, member)));
  // Held roles are announced, and looks are decided, when the watch is processed.
  if (changed.some(({ isHeldBack }) => isHeldBack)) await deps.watches.setDue(uid, deps.now());
  if (answers) await noteChains(deps, watch, written, answers);
  return changed.flatMap(({ cause }) => cause ?? []);
}

/** Notes which chains were read for a watch, and has the next members checked that these chains
 * owe. */
async function noteChains(
  { members, chains, unread, now }: Dependencies,
  watch: Watch,
  written: readonly Written[],
  answers: ReadonlyMap<string, Answer>,
): Promise<void> {
  const read = new Map<string, number>();
  for (const answer of answers.values())
    for (const chainId of Object.keys(answer.read))
      read.set(chainId, Math.max(read.get(chainId) ?? 0, Date.parse(answer.evaluatedAt)));
  const owing = written.map(({ member, unreadChains }) => ({ ...member, unreadChains }));
  await chains.note(watch, { read, members: owing }, now());
  for (const chainId of read.keys()) {
    const next = unread.take(
      chainId,
      owing.filter(({ unreadChains }) => !unreadChains.includes(chainId)),
    );
    if (next.length > 0) await members.setDue(next, now());
  }
}

type Written = {
  readonly member: WatchMember;
  /** Whether the topic needs it; otherwise the view alone is to be refreshed. */
  readonly isChanged: boolean;
  readonly dueAtMs: number | undefined;
  /** Whether a revocation was, or is, held back. */
  readonly isHeldBack: boolean;
  readonly cause?: EventCause | undefined;
  /** Chains for which it owes a check, and which the answer could not read. */
  readonly unreadChains: readonly string[];
};

/** Undefined if nothing changed: the member is gone, the answer was dropped, or the decision does
 * not concern the member. */
async function writeChange(
  deps: Dependencies,
  { change, answers }: Changes,
  read: WatchMember,
): Promise<Written | undefined> {
  const { members: view, now, metrics } = deps;
  let before: WatchMember | undefined = read;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (!isPresent(before)) return undefined;
    const nowMs = now();
    const { member, event, isDropped = false } = change(before);
    if (member === before) return undefined;
    const unreadChains = unreadChainsOf(member, answers?.get(member.memberId));
    const isSoon = isProbe(deps, member, unreadChains) || (isDropped && before.owed === undefined);
    // A decision leaves a member due whose new wallets were not checked yet.
    const dueAtMs =
      answers === undefined && member.checked === undefined
        ? nowMs
        : dueAtOf(member, nowMs, { isDropped, isSoon });
    const isHeldBack = [...before.roles, ...member.roles].some(({ heldBack }) => heldBack);
    const written = { dueAtMs, unreadChains, isHeldBack };
    if (!isToPublish(before, member)) return { ...written, member, isChanged: false };
    const { event: _, ...rest } = member;
    const after: WatchMember = {
      ...rest,
      version: Math.max(nowMs, before.version + 1),
      ...(event && { event: composeRolesChanged(member, event, isoOf(nowMs)) }),
    };
    if (await view.write(before, after, { dueAtMs })) {
      if (event) metrics.countEvent(event.cause);
      return { ...written, member: after, isChanged: true, cause: event?.cause };
    }
    [before] = await view.readMany(read.watchUid, [read.memberId]);
  }
  throw new ServiceError('overloaded', 'too many concurrent writes to this member');
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

const unreadChainsOf = ({ owed }: WatchMember, answer: Answer | undefined): string[] =>
  answer === undefined ? [] : Object.keys(owed?.blocks ?? {}).filter((chainId) => !(chainId in answer.read));

/** Whether this member is asked soon again for all that its chains owe. */
function isProbe({ unread }: Dependencies, member: WatchMember, chainIds: readonly string[]): boolean {
  // By name alone: the member itself has up to a megabyte.
  const name = { watchUid: member.watchUid, memberId: member.memberId };
  return chainIds.map((chainId) => unread.note(chainId, name)).includes(true);
}

/** Whether the topic needs the new state: what changes no role, stamp or sequence, and owes nothing
 * new, is in the view alone. Equal roles are the same object. */
const isToPublish = (before: WatchMember, after: WatchMember): boolean =>
  before.roles !== after.roles ||
  before.checked?.rules !== after.checked?.rules ||
  // A restarted Redis lacks the last second, whose records are not handled again.
  (before.owed === undefined && after.owed !== undefined);

const inflate = promisify(gunzip);

const Line = z.object({
  index: z.number().int(),
  /** Missing if the entry could not be parsed. */
  ref: z.string().optional(),
  roles: z.array(RoleVerdict),
  errors: z.array(RuleFault),
  blockNumbers: z.record(z.string(), z.number()),
  details: z.array(z.looseObject({ ruleIndex: z.number() })).optional(),
});

type Detail = { readonly ruleIndex: number };
type Explained = Answer & { readonly details: readonly Detail[] | undefined };

/** By role, the details of its rules, as JSON. */
function detailsByRole(
  details: readonly Detail[] | undefined,
  { rules }: Pick<RuleSet, 'rules'>,
): ReadonlyMap<string, string> | undefined {
  if (details === undefined) return undefined;
  const byRole = Map.groupBy(details, ({ ruleIndex }) => String(rules[ruleIndex]?.['roleId']));
  return new Map([...byRole].map(([roleId, ofRole]) => [roleId, JSON.stringify(ofRole)]));
}

/** The answers in a part's result, by member id. */
async function readAnswers(part: BatchPartCompleted, check: WatchCheck): Promise<Map<string, Explained>> {
  // A part that the evaluator could not parse names no roles: it says nothing of its members.
  if (part.roles.length === 0) return new Map();
  const { why, rules, owed, sweep, forgives, walletTimes } = check;
  const text = (await inflate(Buffer.from(part.linesGzip, 'base64'))).toString();
  const answers = new Map<string, Explained>();
  for (const json of text.split('\n')) {
    if (json === '') continue;
    const { index, ref, details, errors, blockNumbers, ...line } = Line.parse(JSON.parse(json));
    const walletsAtMs = walletTimes[index];
    if (ref === undefined || walletsAtMs === undefined) continue;
    const outcomes = foldRoles({ ...line, errors });
    const verdicts = part.roles.map(({ id }) => {
      const outcome = outcomes.get(id);
      const isDecided = outcome === 'granted' || outcome === 'denied';
      return [id, isDecided ? outcome === 'granted' : undefined] as const;
    });
    const { evaluatedAt, headTimes = {}, blockTimes = {}, answeredBy } = part;
    const read = Object.entries(blockNumbers).map(([id, block]) => {
      const askedAt = headTimes[id] ?? Date.parse(evaluatedAt);
      return [id, { block, askedAt, madeAt: blockTimes[id] }] as const;
    });
    answers.set(ref, {
      ...{ why, rules, owed, sweep, forgives, errors, evaluatedAt },
      walletsAt: new Date(walletsAtMs).toISOString(),
      verdicts: new Map(verdicts),
      read: Object.fromEntries(read),
      answeredBy,
      details,
    });
  }
  return answers;
}

/** By member id, the roles whose revocation would exceed the bound on revocations per hour. */
async function holdExcess(
  { members: view, now }: Dependencies,
  watch: Watch,
  members: readonly WatchMember[],
  answers: ReadonlyMap<string, Answer>,
  rules: Rules,
): Promise<Map<string, Set<string>>> {
  const byRole = revokedBy(members, (member) => {
    const answer = answers.get(member.memberId);
    return answer ? applyAnswer(member, answer, rules) : { member, revoked: [] };
  });
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
