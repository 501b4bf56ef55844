import { contractsToFollow, type RuleSet } from '#shared/contracts/rules/rule-set.ts';
import {
  type HeldBack,
  isNewMember,
  isPending,
  isPresent,
  type Watch,
  type WatchMember,
} from '#shared/contracts/watches/watch.ts';
import type { EndpointNames } from '#shared/contracts/watches/watch-check.ts';
import type { RuleSets } from '#shared/stores/rules/rule-sets.ts';
import type { LogPositions } from '#shared/stores/watches/log-positions.ts';
import type { MemberName } from '#shared/stores/watches/members/watch-member-text.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';
import { FALSE_BLOCK_MS_MIN } from '../domain/judge-answer.ts';
import type { OpenParts } from './open-parts.ts';
import type { ChecksToRequest, RequestChecks } from './request-checks.ts';

/** Due members of a partition that are checked at a time. */
const DUE_MAX = 1_000;
/** A check without an answer is requested again after this time at the earliest. */
const AGAIN_MS = 60_000;

type Dependencies = {
  readonly watches: Pick<Watches, 'readByUid'>;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  readonly members: Pick<WatchMembers, 'oldestDueAt' | 'due' | 'postpone' | 'dropDue' | 'readInPages'>;
  readonly positions: Pick<LogPositions, 'reach'>;
  readonly requestChecks: RequestChecks;
  readonly openParts: Pick<OpenParts, 'take'>;
  readonly partitions: readonly number[];
  readonly isOwned: (partition: number) => boolean;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** Members of one watch by its uid. */
export function groupByWatch(names: readonly MemberName[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { uid, memberId } of names) {
    const group = groups.get(uid);
    if (group) group.push(memberId);
    else groups.set(uid, [memberId]);
  }
  return groups;
}

/** By chain id. */
type Blocks = Readonly<Record<string, number>>;

/**
 * By chain, the block that following has reached or is reading for a watch: a check that is
 * requested now and reads it, or a later one, misses no transfer of which following did not know
 * that it concerns the member.
 */
export async function reachedBlocks(
  positions: Pick<LogPositions, 'reach'>,
  watch: Watch,
  ruleSet: RuleSet,
): Promise<Blocks> {
  const chainIds = new Set(contractsToFollow(ruleSet, watch).map(({ chainId }) => chainId));
  const reached = await Promise.all(
    [...chainIds].map(async (chainId) => {
      const reach = await positions.reach(chainId, watch.blockTag);
      return reach === undefined ? [] : [[String(chainId), reach.reached] as const];
    }),
  );
  return Object.fromEntries(reached.flat());
}

type Checks = readonly Omit<ChecksToRequest, 'watch' | 'ruleSet' | 'beforePart'>[];

type MembersToCheck = {
  readonly uid: string;
  readonly memberIds: readonly string[];
  /** The checks of some of them; called for one page of members after another. */
  readonly checksOf: (
    members: readonly WatchMember[],
    of: Pick<ChecksToRequest, 'watch' | 'ruleSet'>,
  ) => Checks | Promise<Checks>;
  /** Called with the members whose checks could not be requested. Absent: the others are not tried
   * then. */
  readonly onUnrequested?: (members: readonly WatchMember[]) => Promise<unknown>;
};

/**
 * Requests checks of some members of a watch, unless it is gone or paused. Those that find too many
 * open parts of the client app are not requested: the members stay due.
 *
 * @returns the members that have nothing to be checked for: they, or their watch, are gone, or the
 *   watch is paused
 */
export async function requestChecksOf(
  deps: Pick<Dependencies, 'watches' | 'ruleSets' | 'requestChecks' | 'openParts'> & {
    readonly members: Pick<WatchMembers, 'readInPages'>;
  },
  { uid, memberIds, checksOf, onUnrequested }: MembersToCheck,
): Promise<readonly string[]> {
  const watch = await deps.watches.readByUid(uid);
  if (watch === undefined || watch.paused) return memberIds;
  const ruleSet = await deps.ruleSets.read(watch.clientId, watch.ruleSet);
  if (ruleSet === undefined) return [];
  const beforePart = (requestId: string) => deps.openParts.take(watch.clientId, requestId);
  const idle: string[] = [];
  let at = 0;
  for await (const page of deps.members.readInPages(uid, memberIds)) {
    const members = page.filter(isPresent);
    idle.push(...memberIds.slice(at, at + page.length).filter((_, index) => !isPresent(page[index])));
    at += page.length;
    for (const checks of await checksOf(members, { watch, ruleSet })) {
      if (checks.members.length === 0) continue;
      const unrequested = await deps.requestChecks({ watch, ruleSet, ...checks, beforePart });
      if (unrequested.length === 0) continue;
      if (!onUnrequested) return idle;
      await onUnrequested(unrequested);
    }
  }
  return idle;
}

/** Requests the checks of members that are due by themselves: those that are owed one, and those
 * whose revocation is to be looked at again. */
export function makeCheckDue(deps: Dependencies) {
  const checkMembers = async (
    { partition, uid, memberIds }: { partition: number; uid: string; memberIds: readonly string[] },
    nowMs: number,
  ): Promise<void> => {
    const waiting: { readonly memberId: string; readonly ageMs: number }[] = [];
    const checksOf: MembersToCheck['checksOf'] = async (members, { watch, ruleSet }) => {
      const isAnyNew = members.some(isNewMember);
      const owed = isAnyNew ? await reachedBlocks(deps.positions, watch, ruleSet) : {};
      for (const member of members.filter(isNewMember)) {
        const ageMs = ageOf(member, nowMs);
        if (ageMs > AGAIN_MS) waiting.push({ memberId: member.memberId, ageMs });
      }
      return [
        { members: members.filter(isNewMember), cause: 'schedule', isCharged: true, owed },
        ...owedChecks(
          members.filter((member) => !isNewMember(member)),
          nowMs,
        ),
      ];
    };
    const idle = await requestChecksOf(deps, { uid, memberIds, checksOf });
    // The sweep that `resume` starts checks every member. Until then they would be in the way of
    // those that are due.
    if (idle.length > 0) await deps.members.dropDue(partition, namesOf(uid, idle), nowMs + AGAIN_MS);
    // Where checks wait long for their turn, asking again every minute would only add to the queue:
    // waits double.
    const names = namesOf(
      uid,
      waiting.map(({ memberId }) => memberId),
    );
    const agesMs = waiting.map(({ ageMs }) => ageMs);
    if (names.length > 0) await deps.members.postpone(names, nowMs + Math.min(...agesMs));
  };
  /** Returns what failed: a watch whose members cannot be read does not stop the others. */
  const checkPartition = async (partition: number, nowMs: number): Promise<unknown[]> => {
    const due = await deps.members.due(partition, nowMs, DUE_MAX);
    await deps.members.postpone(due, nowMs + AGAIN_MS);
    const failures: unknown[] = [];
    for (const [uid, memberIds] of groupByWatch(due))
      await checkMembers({ partition, uid, memberIds }, nowMs).catch((error: unknown) =>
        failures.push(error),
      );
    return failures;
  };
  return async function checkDue(): Promise<void> {
    const nowMs = deps.now();
    const own = deps.partitions.filter(deps.isOwned);
    // All are asked at once; mostly no member is due.
    const dueAtMs = await Promise.all(own.map(deps.members.oldestDueAt));
    const failures: unknown[] = [];
    for (const [index, partition] of own.entries())
      if ((dueAtMs[index] ?? Infinity) <= nowMs) failures.push(...(await checkPartition(partition, nowMs)));
    if (failures.length > 0) throw failures[0];
  };
}

/** The checks of members that have been checked before, by cause and by the endpoints to avoid: at
 * the blocks that they are owed, or at later ones. */
function owedChecks(members: readonly WatchMember[], nowMs: number) {
  const byCause = Map.groupBy(members, ({ owed }) => owed?.cause ?? 'schedule');
  return [...byCause].flatMap(([cause, ofCause]) =>
    byEndpointsToAvoid(ofCause, nowMs).map(({ members: alike, avoid }) => ({
      members: alike,
      cause,
      isCharged: false,
      owed: mostOf(alike.map((member) => blocksOwed(member, nowMs))),
      avoid,
    })),
  );
}

/** Members by the endpoints that their checks avoid: mostly all together, with none. */
export function byEndpointsToAvoid(members: readonly WatchMember[], nowMs: number) {
  const groups = new Map<string, { members: WatchMember[]; readonly avoid: EndpointNames | undefined }>();
  for (const member of members) {
    const avoid = endpointsToAvoid(member, nowMs);
    const name = JSON.stringify(avoid) ?? '';
    const group = groups.get(name) ?? { members: [], avoid };
    groups.set(name, group);
    group.members.push(member);
  }
  return [...groups.values()];
}

/** The revocations that are to be looked at again. */
const looksOf = ({ roles }: WatchMember, nowMs: number): readonly HeldBack[] =>
  roles.flatMap(({ heldBack }) =>
    heldBack && isPending(heldBack) && Date.parse(heldBack.graceUntil ?? '') <= nowMs ? [heldBack] : [],
  );

/** By chain id, the endpoints that answered the first check of a revocation that is to be looked at
 * again: others are to confirm it. */
function endpointsToAvoid(member: WatchMember, nowMs: number): EndpointNames | undefined {
  const names: EndpointNames = {};
  for (const { answeredBy = {} } of looksOf(member, nowMs))
    for (const [chainId, ofChain] of Object.entries(answeredBy))
      names[chainId] = [...new Set([...(names[chainId] ?? []), ...ofChain])].toSorted();
  return Object.keys(names).length === 0 ? undefined : names;
}

/** The blocks that a member is owed; behind those that it has seen if a revocation is to be looked
 * at again. A number that was not reached for long may be false, and is not asked for any more. */
function blocksOwed(member: WatchMember, nowMs: number): Blocks {
  const { owed, seen } = member;
  const isToLook = looksOf(member, nowMs).length > 0;
  const later = Object.fromEntries(Object.entries(seen).map(([id, { block }]) => [id, block + 1]));
  const isFresh = owed !== undefined && nowMs - Date.parse(owed.since) < FALSE_BLOCK_MS_MIN;
  return mostOf([isFresh ? owed.blocks : {}, isToLook ? later : {}]);
}

function mostOf(all: readonly Blocks[]): Blocks {
  const most: Record<string, number> = {};
  for (const blocks of all)
    for (const [id, block] of Object.entries(blocks)) most[id] = Math.max(block, most[id] ?? 0);
  return most;
}

const namesOf = (uid: string, memberIds: readonly string[]): MemberName[] =>
  memberIds.map((memberId) => ({ uid, memberId }));

/** How long the member has had its wallets, ms. */
const ageOf = ({ walletsAt }: WatchMember, nowMs: number): number => nowMs - Date.parse(walletsAt);
