import {
  type CheckCause,
  type Watch,
  type WatchMember,
  watchOfUid,
  watchUid,
} from '#shared/contracts/watch.ts';
import type { RuleSets } from '#shared/redis/rule-sets.ts';
import type { MemberName, WatchMembers } from '#shared/redis/watch-members.ts';
import type { Watches } from '#shared/redis/watches.ts';
import type { AskChecks, AskedChecks } from './ask-checks.ts';

/** Due members of a partition that are asked for at a time. */
const DUE_MAX = 1_000;
/** A check without an answer is asked for again then. */
const AGAIN_MS = 60_000;

type Dependencies = {
  readonly watches: Pick<Watches, 'read'>;
  readonly ruleSets: Pick<RuleSets, 'read'>;
  readonly members: Pick<WatchMembers, 'due' | 'putOff' | 'readMany'>;
  readonly askChecks: AskChecks;
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

/** Asks for checks of some members of a watch, unless it is gone or paused. */
export async function askFor(
  { watches, ruleSets, members: view, askChecks }: Omit<Dependencies, 'now'>,
  uid: string,
  memberIds: readonly string[],
  optionsOf: (members: readonly WatchMember[]) => readonly Omit<AskedChecks, 'watch' | 'ruleSet'>[],
  isWanted: (watch: Watch) => boolean = () => true,
): Promise<void> {
  const { clientId, watchId } = watchOfUid(uid);
  const watch = await watches.read(clientId, watchId);
  if (watch === undefined || watchUid(watch) !== uid || watch.paused || !isWanted(watch)) return;
  const ruleSet = await ruleSets.read(clientId, watch.ruleSet);
  if (ruleSet === undefined) return;
  const found = await view.readMany(uid, memberIds);
  const members = found.flatMap((member) => (member && member.removedAt === undefined ? [member] : []));
  for (const asked of optionsOf(members))
    if (asked.members.length > 0) await askChecks({ watch, ruleSet, ...asked });
}

/** Asks for the checks of members that are due by themselves: new ones, and those that could not be read. */
export function makeCheckDue(deps: Dependencies) {
  const cause: CheckCause = 'schedule';
  return async function checkDue(partition: number): Promise<void> {
    const nowMs = deps.now();
    const due = await deps.members.due(partition, nowMs, DUE_MAX);
    if (due.length === 0) return;
    await deps.members.putOff(due, nowMs + AGAIN_MS);
    for (const [uid, memberIds] of groupByWatch(due))
      await askFor(deps, uid, memberIds, (members) => [
        { members: members.filter(isNew), cause, isCharged: true },
        { members: members.filter((member) => !isNew(member)), cause, isCharged: false },
      ]);
  };
}

const isNew = ({ checkedAt, walletsAt }: WatchMember): boolean =>
  checkedAt === undefined || checkedAt < walletsAt;
