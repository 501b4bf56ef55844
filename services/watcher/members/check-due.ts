import { HOUR_MS } from '#shared/contracts/durations.ts';
import { contractsToFollow, type RuleSet } from '#shared/contracts/rules/rule-set.ts';
import {
  type HeldBack,
  isPending,
  isPresent,
  MEMBER_PARTITIONS,
  type Watch,
  type WatchMember,
} from '#shared/contracts/watches/watch.ts';
import type { EndpointNames } from '#shared/contracts/watches/watch-check.ts';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import { type Budget, isWithinBudgets } from '#shared/fairness/throttle.ts';
import { groupByWatch } from '#shared/stores/watches/members/watch-member-text.ts';
import type { Dependencies } from '../dependencies.ts';
import { FALSE_BLOCK_MS_MIN, withinReach } from '../domain/judge-answer.ts';
import type { ChecksToRequest } from '../stores.ts';
import { makeOwnerOf } from './watch-owners.ts';

/** Due members of a partition that one round takes. */
const DUE_MAX = 1_000;
/** Watches whose due members are read and requested at once. */
const AT_ONCE_MAX = 16;
/** Due members of a partition that wait for the turns of their watches; further ones stay due. */
const WAITING_MAX = 8_000;
/** A check without an answer is requested again after this time at the earliest. */
const AGAIN_MS = 60_000;
/** The same where the account has used up its checks of members that are owed one. */
const OVER_BUDGET_MS = 600_000;
/** Checks of an account's members that are owed one: as many as 166 000 members cause that are
 * asked again every 10 minutes while a chain cannot be read. */
const OWED_CHECKS: Budget = { name: 'owed-checks', countMax: 1_000_000, windowMs: HOUR_MS };

/** By chain id. */
type Blocks = Readonly<Record<string, number>>;

/**
 * By chain, the block that following has reached or is reading for a watch: a check that is
 * requested now and reads it, or a later one, misses no transfer of which following did not know
 * that it concerns the member.
 */
export async function reachedBlocks(
  positions: Pick<Dependencies['positions'], 'reach'>,
  watch: Watch,
  ruleSet: RuleSet,
): Promise<Blocks> {
  const chainIds = new Set(contractsToFollow(ruleSet, watch).map(({ chainId }) => chainId));
  const reached = await Promise.all(
    [...chainIds].map(async (chainId) => {
      const reach = await positions.reach(chainId, watch.blockTag);
      return reach.reached === undefined ? [] : [[String(chainId), reach.reached] as const];
    }),
  );
  return Object.fromEntries(reached.flat());
}

/**
 * Requests the checks of members that are due by themselves: those that are owed one, and those
 * whose revocation is to be looked at again. Watches take turns by account, then by client app, of
 * all rounds together, so a round need not wait for the one before.
 */
export function makeCheckDue(deps: Dependencies): () => Promise<void> {
  const ownerOf = makeOwnerOf(deps.watches);
  const queue = new FairTaskQueue({
    ...{ atOnceMax: AT_ONCE_MAX, waitingMax: WAITING_MAX * MEMBER_PARTITIONS },
    refusal: 'too many members are due',
  });
  const waiting = new Map<number, number>();
  const waitingIn = (partition: number): number => waiting.get(partition) ?? 0;
  const check = async (asked: AskedMembers): Promise<void> => {
    const { partition, uid, memberIds, nowMs } = asked;
    waiting.set(partition, waitingIn(partition) + memberIds.length);
    try {
      await queue.run(await ownerOf(uid), async () => {
        // After a longer wait they are due again, and a later round has taken them.
        if (deps.now() - nowMs < AGAIN_MS) await checkMembers(deps, asked);
      });
    } finally {
      waiting.set(partition, waitingIn(partition) - memberIds.length);
    }
  };
  /** The checks of the members that are due now, each with its error: a watch whose members cannot
   * be read does not stop the others. */
  const take = async (): Promise<Promise<unknown>[]> => {
    const checks: Promise<unknown>[] = [];
    const nowMs = deps.now();
    const own = deps.partitions.filter(
      (partition) => deps.isOwned(partition) && waitingIn(partition) <= WAITING_MAX - DUE_MAX,
    );
    // All are asked at once; mostly no member is due.
    const due = await Promise.all(own.map((partition) => deps.members.due(partition, nowMs, DUE_MAX)));
    for (const [index, partition] of own.entries()) {
      const names = due[index] ?? [];
      await deps.members.postpone(names, nowMs + AGAIN_MS);
      for (const [uid, memberIds] of groupByWatch(names))
        checks.push(check({ partition, uid, memberIds, nowMs }).catch((error: unknown) => error));
    }
    return checks;
  };
  let isTaking = false;
  return async function checkDue() {
    // Two rounds would take the same members.
    if (isTaking) return;
    isTaking = true;
    const checks = await take().finally(() => {
      isTaking = false;
    });
    const failure = (await Promise.all(checks)).find((error) => error !== undefined);
    if (failure !== undefined) throw failure;
  };
}

type AskedMembers = {
  readonly partition: number;
  readonly uid: string;
  readonly memberIds: readonly string[];
  /** When they were put off: their due time is `AGAIN_MS` later until something changes it. */
  readonly nowMs: number;
};

async function checkMembers(
  deps: Dependencies,
  { partition, uid, memberIds, nowMs }: AskedMembers,
): Promise<void> {
  const drop = async (ids: readonly string[]): Promise<void> => {
    const names = ids.map((memberId) => ({ watchUid: uid, memberId }));
    if (ids.length > 0) await deps.members.dropDue(partition, names, nowMs + AGAIN_MS);
  };
  const watch = await deps.watches.readByUid(uid);
  // The sweep that `resume` starts checks every member. Until then they would be in the way of those
  // that are due.
  if (watch === undefined || watch.paused) return drop(memberIds);
  const ruleSet = await deps.ruleSets.read(watch.clientId, watch.ruleSet);
  if (ruleSet === undefined) return;
  let at = 0;
  for await (const page of deps.members.readInPages(uid, memberIds)) {
    await drop(memberIds.slice(at, at + page.length).filter((_, index) => !isPresent(page[index])));
    at += page.length;
    const members = page.filter(isPresent);
    const added = members.filter(({ checked }) => checked === undefined);
    const again = members.filter(({ checked, owed }) => checked !== undefined && owed !== undefined);
    const draw = { budget: OWED_CHECKS, owner: watch.accountId, count: again.length };
    const isAgain = again.length === 0 || (await isWithinBudgets(deps.throttle, [draw]));
    // A check that ends a grace is due once, and is not one of them.
    const known = members.filter(
      ({ checked, owed }) => checked !== undefined && (isAgain || owed === undefined),
    );
    if (!isAgain) await deps.members.postpone(again, nowMs + OVER_BUDGET_MS);
    // Where checks wait long for their turn, asking again every minute would only add to the queue:
    // waits double.
    const slow = added.filter((member) => ageOf(member, nowMs) > AGAIN_MS);
    const ages = slow.map((member) => ageOf(member, nowMs));
    if (slow.length > 0) await deps.members.postpone(slow, nowMs + Math.min(...ages));
    const isOwing = added.length > 0 || known.some(({ owed }) => owed !== undefined);
    const reached = isOwing ? await reachedBlocks(deps.positions, watch, ruleSet) : {};
    const ofAdded: Checks = { members: added, why: { cause: 'schedule' }, isCharged: true, owed: reached };
    // Too many parts of the client app are open: the members stay due.
    for (const checks of [...(added.length > 0 ? [ofAdded] : []), ...owedChecks(known, nowMs, reached)])
      if ((await deps.requestChecks({ watch, ruleSet, ...checks })).length > 0) return;
  }
}

type Checks = Omit<ChecksToRequest, 'watch' | 'ruleSet'>;

/** The checks of members that have been checked before, by cause and by the endpoints to avoid: at
 * the blocks that they are owed, or at later ones. */
function owedChecks(members: readonly WatchMember[], nowMs: number, reached: Blocks): Checks[] {
  const byCause = Map.groupBy(members, ({ owed }) => owed?.why.cause ?? 'schedule');
  return [...byCause].flatMap(([cause, ofCause]) =>
    byEndpointsToAvoid(ofCause, nowMs).map(({ members: alike, avoid }) => ({
      members: alike,
      why: { cause },
      isCharged: false,
      owed: mostOf(alike.map((member) => blocksOwed(member, nowMs, reached))),
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
function blocksOwed(member: WatchMember, nowMs: number, reached: Blocks): Blocks {
  const { owed, checked } = member;
  const isToLook = looksOf(member, nowMs).length > 0;
  const later = Object.fromEntries(
    Object.entries(checked?.seen ?? {}).map(([id, { block }]) => [id, block + 1]),
  );
  const isFresh = owed !== undefined && nowMs - Date.parse(owed.since) < FALSE_BLOCK_MS_MIN;
  return mostOf([isFresh ? withinReach(owed.blocks, reached) : {}, isToLook ? later : {}]);
}

function mostOf(all: readonly Blocks[]): Blocks {
  const most: Record<string, number> = {};
  for (const blocks of all)
    for (const [id, block] of Object.entries(blocks)) most[id] = Math.max(block, most[id] ?? 0);
  return most;
}

/** How long the member has had its wallets, ms. */
const ageOf = ({ walletsAt }: WatchMember, nowMs: number): number => nowMs - Date.parse(walletsAt);
