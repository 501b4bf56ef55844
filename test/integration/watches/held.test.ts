import {
  partitionOfMember,
  type Watch,
  type WatchEvaluated,
  type WatchMember,
  watchEvaluated,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import { makeWatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { makeWatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import { makeHandleEvaluated } from '../../../services/watcher/members/handle-evaluated.ts';
import { makeOpenParts } from '../../../services/watcher/members/open-parts.ts';
import { makeUnreadChains } from '../../../services/watcher/members/unread-chains.ts';
import { beginSweep, makeRunSweeps } from '../../../services/watcher/sweeps/run-sweeps.ts';
import { aRuleSet } from '../../support/builders/a-rule-set.ts';
import { aCheck, aMember, anAnswer, atSecond, aWatch } from '../../support/builders/a-watch.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: sweeps and their decisions are in a database of a real Redis that only this file uses;
// the tests answer the checks and carry the commands. They check which revocations of several
// sweeps the client is told of.

const MEMBERS = Array.from({ length: 10 }, (_, i) => `m${i}`);
const UID = watchUid(aWatch());

const stores = testStores(10);

beforeEach(async () => {
  await stores.redis.flushdb();
  await stores.replay();
});

/** A watch whose ten members have the role `gold` until `lost` names them. */
async function makeWorld() {
  const members = makeWatchMembers(stores.redis);
  const sweeps = makeWatchSweeps(stores.redis);
  let second = 1_000;
  const world = {
    watch: aWatch({ massRevocation: { share: 0.2, atLeast: 3 } }) as Watch,
    lost: new Set<string>(),
    /** Members that the client was told have lost the role. */
    told: [] as string[],
    announced: [] as object[],
  };
  const log: WatchEvaluated[] = [];
  const now = () => Date.parse(atSecond(++second));
  const common = {
    ...{ members, sweeps, now, openParts: makeOpenParts(stores.redis) },
    watches: { readByUid: async () => world.watch, setDue: async () => undefined },
    ruleSets: { read: async () => aRuleSet('app_1', 'set') },
  };
  const handle = makeHandleEvaluated({
    ...common,
    clientApps: { read: async () => undefined },
    metrics: { countChecks: () => undefined, countEvent: () => undefined },
    positions: { forks: async () => [] },
    chains: { note: async () => undefined },
    unread: makeUnreadChains(now),
    publishOutbox: async () => undefined,
    async publishMember(_: unknown, member: WatchMember) {
      if (member.event) world.told.push(member.memberId);
      await members.markSent(member);
    },
  } as unknown as Parameters<typeof makeHandleEvaluated>[0]);
  const runSweeps = makeRunSweeps({
    ...common,
    async requestChecks({
      members: asked,
      sweep,
      beforePart,
    }: Parameters<Parameters<typeof makeRunSweeps>[0]['requestChecks']>[0]) {
      for (const member of asked) {
        const answer = anAnswer(member, !world.lost.has(member.memberId), ++second, {
          ...(sweep === undefined ? {} : { sweep }),
        });
        await beforePart?.(answer.requestId);
        log.push(answer);
      }
      return true;
    },
    announceHeld: async (watch: Watch, roles: readonly { id: string }[]) => {
      const held = roles.filter(({ id }) => !watch.held.some((each) => each.id === id));
      if (held.length === 0) return;
      world.announced.push(...held);
      world.watch = { ...watch, held: [...watch.held, ...held] as Watch['held'] };
    },
    noteSwept: async () => undefined,
    publish: async (_: unknown, command: WatchEvaluated) => void log.push(command),
    isOwned: () => true,
    partsMax: 100,
    pace: async () => undefined,
    log: { warn: () => undefined },
  } as unknown as Parameters<typeof makeRunSweeps>[0]);
  const handleLog = async () => {
    for (let record = log.shift(); record !== undefined; record = log.shift()) {
      await handle(record, { partition: watchEvaluated.partitionOf?.(record) } as RecordContext);
    }
  };
  for (const memberId of MEMBERS)
    await members.write(
      undefined,
      aMember({
        ...{ memberId, sequence: 1, checked: aCheck(1) },
        roles: [{ id: 'gold', granted: true, since: atSecond(1) }],
      }),
      { isUnpublished: false },
    );
  return Object.assign(world, {
    /** Sweeps the watch, and returns the members that the client was told have lost the role. */
    async sweep(...lost: string[]): Promise<string[]> {
      for (const memberId of lost) world.lost.add(memberId);
      await beginSweep(common, world.watch, aRuleSet('app_1', 'set'), 'schedule');
      await waitUntil('the end of the sweep', async () => {
        await runSweeps();
        await handleLog();
        return (await sweeps.read(UID)) === undefined;
      });
      return world.told.splice(0).sort();
    },
    async release(): Promise<string[]> {
      for (const partition of new Set(MEMBERS.map((id) => partitionOfMember(UID, id))))
        log.push({ command: 'release', clientId: 'app_1', watchUid: UID, partition, at: atSecond(++second) });
      world.watch = { ...world.watch, held: [] };
      await handleLog();
      return world.told.splice(0).sort();
    },
  });
}

test('a sweep sends none of the revocations of a role that is held, and a release sends all of them', async () => {
  const world = await makeWorld();
  expect(await world.sweep('m0', 'm1', 'm2')).toEqual([]);
  expect(await world.sweep('m3', 'm4')).toEqual([]);
  expect(world.announced).toEqual([{ id: 'gold', holders: 10, revocations: 3 }]);
  expect(await world.release()).toEqual(['m0', 'm1', 'm2', 'm3', 'm4']);
  // Released revocations do not count.
  expect(await world.sweep('m5', 'm6')).toEqual(['m5', 'm6']);
});

test('the revocations of two sweeps within an hour count together', async () => {
  const world = await makeWorld();
  expect(await world.sweep('m0', 'm1')).toEqual(['m0', 'm1']);
  expect(await world.sweep('m2', 'm3')).toEqual([]);
  expect(world.announced).toEqual([{ id: 'gold', holders: 8, revocations: 2 }]);
});
