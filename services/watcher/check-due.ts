import { type CheckCause, isNewMember, type WatchMember } from '#shared/contracts/watch.ts';
import type { RuleSets } from '#shared/redis/rule-sets.ts';
import type { MemberName } from '#shared/redis/watch-member-text.ts';
import type { WatchMembers } from '#shared/redis/watch-members.ts';
import type { Watches } from '#shared/redis/watches.ts';
import type { OpenParts } from './open-parts.ts';
import type { ChecksToRequest, RequestChecks } from './request-checks.ts';

/** Due members of a partition that are checked at a time. */
const DUE_MAX = 1_000;
/** A check without an answer is requested again after this time at the earliest. */
const AGAIN_MS = 60_000;

type Dependencies = {
  readonly watches: Pick<Watches, 'readByUid'>;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  readonly members: Pick<WatchMembers, 'oldestDueAt' | 'due' | 'postpone' | 'dropDue' | 'readMany'>;
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

/**
 * Requests checks of some members of a watch, unless it is gone or paused. Those that find too many open parts of the client
 * app are left out: the members stay due.
 *
 * @returns the members that have nothing to be checked for: they, or their watch, are gone, or the watch is paused
 */
export async function requestChecksOf(
  {
    watches,
    ruleSets,
    members: view,
    requestChecks,
    openParts,
  }: Pick<Dependencies, 'watches' | 'ruleSets' | 'requestChecks' | 'openParts'> & {
    members: Pick<WatchMembers, 'readMany'>;
  },
  uid: string,
  memberIds: readonly string[],
  optionsOf: (
    members: readonly WatchMember[],
  ) => readonly Omit<ChecksToRequest, 'watch' | 'ruleSet' | 'beforePart'>[],
): Promise<readonly string[]> {
  const watch = await watches.readByUid(uid);
  if (watch === undefined || watch.paused) return memberIds;
  const ruleSet = await ruleSets.read(watch.clientId, watch.ruleSet);
  if (ruleSet === undefined) return [];
  const found = await view.readMany(uid, memberIds);
  const members = found.flatMap((member) => (member && member.removedAt === undefined ? [member] : []));
  const beforePart = (requestId: string) => openParts.take(watch.clientId, requestId);
  for (const checks of optionsOf(members))
    if (checks.members.length > 0 && !(await requestChecks({ watch, ruleSet, ...checks, beforePart }))) break;
  const present = new Set(members.map(({ memberId }) => memberId));
  return memberIds.filter((memberId) => !present.has(memberId));
}

/** Requests the checks of members that are due by themselves: new ones, and those that could not be read. */
export function makeCheckDue(deps: Dependencies) {
  const cause: CheckCause = 'schedule';
  const checkPartition = async (partition: number, nowMs: number): Promise<void> => {
    const due = await deps.members.due(partition, nowMs, DUE_MAX);
    const againAtMs = nowMs + AGAIN_MS;
    await deps.members.postpone(due, againAtMs);
    for (const [uid, memberIds] of groupByWatch(due)) {
      let waiting: readonly WatchMember[] = [];
      const idle = await requestChecksOf(deps, uid, memberIds, (members) => {
        waiting = members.filter((member) => isNewMember(member) && ageOf(member, nowMs) > AGAIN_MS);
        return [
          { members: members.filter(isNewMember), cause, isCharged: true },
          ...unreadChecks(members.filter((member) => !isNewMember(member))),
        ];
      });
      // The sweep that `resume` starts checks every member. Until then they would be in the way of those that are due.
      if (idle.length > 0) await deps.members.dropDue(partition, namesOf(uid, idle), againAtMs);
      // Where checks wait long for their turn, asking again every minute would only add to the queue: waits double.
      const names = namesOf(
        uid,
        waiting.map(({ memberId }) => memberId),
      );
      const agesMs = waiting.map((member) => ageOf(member, nowMs));
      if (names.length > 0) await deps.members.postpone(names, nowMs + Math.min(...agesMs));
    }
  };
  return async function checkDue(): Promise<void> {
    const nowMs = deps.now();
    const own = deps.partitions.filter(deps.isOwned);
    // All are asked at once; mostly no member is due.
    const dueAtMs = await Promise.all(own.map(deps.members.oldestDueAt));
    for (const [index, partition] of own.entries())
      if ((dueAtMs[index] ?? Infinity) <= nowMs) await checkPartition(partition, nowMs);
  };
}

/** The checks of members that could not be read; after a transfer, at its block or a later one. */
function unreadChecks(members: readonly WatchMember[]) {
  const awaiting = members.filter(({ awaitedBlocks }) => awaitedBlocks !== undefined);
  const minBlock: Record<string, number> = {};
  for (const { awaitedBlocks = {} } of awaiting)
    for (const [chainId, number] of Object.entries(awaitedBlocks))
      minBlock[chainId] = Math.max(number, minBlock[chainId] ?? 0);
  const others = members.filter(({ awaitedBlocks }) => awaitedBlocks === undefined);
  return [
    { members: others, cause: 'schedule', isCharged: false },
    { members: awaiting, cause: 'transfer', isCharged: false, minBlock },
  ] as const;
}

const namesOf = (uid: string, memberIds: readonly string[]): MemberName[] =>
  memberIds.map((memberId) => ({ uid, memberId }));

/** How long the member has had its wallets, ms. */
const ageOf = ({ walletsAt }: WatchMember, nowMs: number): number => nowMs - Date.parse(walletsAt);
