import {
  MEMBER_PARTITIONS,
  type WatchEvaluated,
  type WatchMember,
  watchEvaluated,
} from '#shared/contracts/watches/watch.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import { makeWatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import type { Dependencies } from '../../../services/watcher/dependencies.ts';
import { makeCheckDue } from '../../../services/watcher/members/check-due.ts';
import { makeHandleEvaluated } from '../../../services/watcher/members/handle-evaluated.ts';
import { makeOpenParts } from '../../../services/watcher/members/open-parts.ts';
import { makeUnreadChains } from '../../../services/watcher/members/unread-chains.ts';
import type { ChecksToRequest } from '../../../services/watcher/stores.ts';
import { aRuleSet } from '../../support/builders/a-rule-set.ts';
import { aMember, anAnswer, atSecond, aWatch } from '../../support/builders/a-watch.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';

// Scenario: members are added while the only endpoint of their chain is away. They and their due
// times are in a database of a real Redis that only this file uses; the test is the chain, and sets
// the clock.

const FIRST_SECOND = 1_000;
const stores = testStores(11);

beforeEach(async () => {
  await stores.redis.flushdb();
  await stores.replay();
});

/** A watcher whose rounds are a second apart, and whose checks are answered at once. */
function makeWorld() {
  const members = makeWatchMembers(stores.redis);
  const world = {
    second: FIRST_SECOND,
    isAway: true,
    checkCount: 0,
    /** By member, the second of its first event. */
    told: new Map<string, number>(),
  };
  const now = () => Date.parse(atSecond(world.second));
  const answers: WatchEvaluated[] = [];
  const deps = {
    ...{ members, now, openParts: makeOpenParts(stores.redis) },
    watches: { readByUid: async () => aWatch() },
    ruleSets: { read: async () => aRuleSet('app_1', 'set') },
    positions: { forks: async () => [], reach: async () => ({ reached: undefined, readAt: undefined }) },
    chains: { note: async () => undefined },
    unread: makeUnreadChains(now),
    clientApps: { read: async () => undefined },
    throttle: { take: async () => undefined },
    metrics: { countChecks: () => undefined, countEvent: () => undefined },
    partitions: Array.from({ length: MEMBER_PARTITIONS }, (_, index) => index),
    isOwned: () => true,
    publishOutbox: async () => undefined,
    async publishMember(_: unknown, member: WatchMember) {
      if (member.event && !world.told.has(member.memberId)) world.told.set(member.memberId, world.second);
      await members.markSent(member);
    },
    async requestChecks({ members: asked, why, owed }: ChecksToRequest) {
      for (const member of asked)
        answers.push(anAnswer(member, world.isAway ? undefined : true, world.second, { why, owed }));
      world.checkCount += asked.length;
      return [];
    },
  } as unknown as Dependencies;
  const handle = makeHandleEvaluated(deps);
  const checkDue = makeCheckDue(deps);
  return Object.assign(world, {
    /** As a gateway does. */
    async add(memberId: string): Promise<void> {
      const at = atSecond(world.second);
      const owed = { since: at, blocks: {}, why: { cause: 'schedule' as const } };
      const added = aMember({ memberId, addedAt: at, walletsAt: at, owed, version: now() });
      await members.write(undefined, added, { dueAtMs: now(), isUnpublished: false });
    },
    async tick(): Promise<void> {
      await checkDue();
      for (let answer = answers.shift(); answer !== undefined; answer = answers.shift())
        await handle(answer, { partition: watchEvaluated.partitionOf?.(answer) } as RecordContext);
      world.second += 1;
    },
  });
}

test.each([60, 300])(
  'after an outage of %i s every member that was added during it has its event within 10 s, and one member asked for all of them',
  async (seconds) => {
    const world = makeWorld();
    const ids = Array.from({ length: 12 }, (_, i) => `m${i}`);
    for (let second = 0; second < seconds; second++) {
      const added = second % (seconds / ids.length) === 0 && ids[(second * ids.length) / seconds];
      if (added) await world.add(added);
      await world.tick();
    }
    expect(world.told.size).toBe(0);
    // At once, after 5 s, then at doubling intervals; one of them every 5 s.
    const [ofProbe, ofEach] = [seconds / 5 + 2, Math.log2(seconds / 5) + 3];
    expect(world.checkCount).toBeLessThanOrEqual(ofProbe + ids.length * ofEach);
    world.isAway = false;
    const end = world.second;
    while (world.told.size < ids.length && world.second <= end + 10) await world.tick();
    expect([...world.told.keys()].toSorted()).toEqual(ids.toSorted());
  },
);
