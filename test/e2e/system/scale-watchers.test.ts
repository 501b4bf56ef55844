/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// The tokens of a watch's members move all the time, while two watchers join the running one and
// leave again: one by SIGTERM, one by SIGKILL. Every change is sent once, in sequence, and no
// member is missed.
import { AssignerProtocol } from 'kafkajs';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { MEMBER_PARTITIONS, watchEvaluated } from '#shared/contracts/watches/watch.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import type { OpenSystem } from '../../../services/developer-portal/admin/open-system.ts';
import { Rolecall } from '../../../shared/client/index.ts';
import { receiveWebhooks, type WebhookReceiver } from '../../support/fakes/receive-webhooks.ts';
import {
  judgeWatchEvents,
  readWatchEvent,
  type WatchEvent,
} from '../../support/judges/judge-watch-events.ts';
import { makeDemoTransfers } from '../../support/systems/demo-transfers.ts';
import { openTestSystem } from '../../support/systems/open-test-system.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';
import { type SpawnedProcess, spawnNode } from '../../support/systems/spawn-process.ts';
import { waitUntil, waitUntilPasses } from '../../support/wait-until.ts';

/** Two for each partition, so that every watcher has some. */
const COUNT = 2 * MEMBER_PARTITIONS;
/** How often each member's role changes with each count of watchers. */
const CHANGES = 2;
const COINS = '0xde0b6b3a7640000';
/** Held revocations have a test of their own. */
const HELD_NEVER = { share: 1, atLeast: 1_000 };
const FOLLOWED = 'scaled-followed';
const SWEPT = 'scaled-swept';

const system = sharedSystem();
const { rpc, holder, erc20, chainId } = system.chain;
const rolecall = new Rolecall({ baseUrl: system.ready.gateways[0] ?? '', apiKey: system.ready.app.apiKey });

type Member = { readonly ref: string; readonly account: string; isHolder: boolean; changes: number };
const members: readonly Member[] = Array.from({ length: COUNT }, (_, i) => ({
  ref: `m${i}`,
  account: `0x${(0xbcd000 + i).toString(16).padStart(40, '4')}`,
  isHolder: false,
  changes: 0,
}));

let open: OpenSystem;
let receiver: WebhookReceiver;
beforeAll(async () => {
  open = await system.use(openTestSystem(system.environment()));
  receiver = await system.use(receiveWebhooks({ secret: system.ready.app.webhookSecret }));
  for (const { account } of members) {
    await callJsonRpc(rpc, 'anvil_setBalance', [account, COINS]);
    await callJsonRpc(rpc, 'anvil_impersonateAccount', [account]);
  }
  const rule = {
    type: 'ERC20',
    chainId,
    contractAddress: erc20,
    minToken: '0.000001',
    roleId: 'holder',
  } as const;
  await rolecall.ruleSets.put('scaled', { rules: [rule] });
  for (const [watchId, follow] of [
    [FOLLOWED, true],
    [SWEPT, false],
  ] as const) {
    const settings = { ruleSet: 'scaled', everySeconds: 604_800, massRevocation: HELD_NEVER, follow };
    await rolecall.watches.put(watchId, { ...settings, callbackUrl: `${receiver.url}/${watchId}` });
    await rolecall.watches.addMembers(
      watchId,
      members.map(({ ref, account }) => ({ ref, account })),
    );
  }
});
afterAll(async () => {
  for (const member of members) if (member.isHolder) await move(member);
  for (const watchId of [FOLLOWED, SWEPT]) await rolecall.watches.delete(watchId);
  await rolecall.ruleSets.delete('scaled');
});

/** The webhooks of a watch that have arrived, each attempt of them. */
const arrivedOf = (watchId: string) => receiver.deliveries.filter(({ path }) => path.endsWith(watchId));
const eventsOf = (watchId: string): WatchEvent[] =>
  arrivedOf(watchId).flatMap(({ body }) => readWatchEvent(body) ?? []);

const changed = new Map<string, Set<number>>();
let readCount = 0;
/** How many events of a member of the followed watch have arrived. */
function eventCountOf({ ref }: Member): number {
  const arrived = receiver.deliveries.slice(readCount);
  readCount += arrived.length;
  for (const { path, body } of arrived) {
    const event = path.endsWith(FOLLOWED) ? readWatchEvent(body) : undefined;
    if (event) changed.set(event.ref, (changed.get(event.ref) ?? new Set()).add(event.sequence));
  }
  return changed.get(ref)?.size ?? 0;
}

/** Gives a member the token, or takes it away. */
async function move(member: Member): Promise<void> {
  const [from, to] = member.isHolder ? [member.account, holder] : [holder, member.account];
  await makeDemoTransfers(rpc, from).erc20(to);
  member.isHolder = !member.isHolder;
  member.changes += 1;
}

let moving: Promise<unknown> = Promise.resolve();
/** Changes a member's role again and again, each time when the event of the last change is
 * there. */
async function keepMoving(member: Member, stopping: AbortSignal): Promise<void> {
  const waitForEvents = () =>
    waitUntil(`event ${member.changes + 1} of ${member.ref}`, () => eventCountOf(member) > member.changes);
  await waitForEvents();
  while (!stopping.aborted) {
    // One transfer at a time: the node numbers the holder's transactions.
    const moved = moving.then(() => move(member));
    moving = moved;
    await moved;
    await waitForEvents();
  }
}

/** Returns when every member's role has changed some more times, and has a sweep begin
 * meanwhile. */
async function waitForChanges(): Promise<void> {
  await rolecall.watches.check(SWEPT);
  const before = new Map(members.map((member) => [member, member.changes]));
  await waitUntil('changes of every member', () =>
    members.every((member) => member.changes >= (before.get(member) ?? 0) + CHANGES),
  );
}

/** Waits until this many watchers share all partitions. */
const waitForWatchers = (count: number) =>
  waitUntil(`${count} watchers`, async () => {
    const { groups } = await open.kafka.admin.describeGroups([CONSUMER_GROUPS.members]);
    const [group] = groups;
    if (group?.state !== 'Stable' || group.members.length !== count) return false;
    const owned = group.members.map(
      ({ memberAssignment }) =>
        AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment[watchEvaluated.name] ?? [],
    );
    return owned.flat().length === MEMBER_PARTITIONS && owned.every((partitions) => partitions.length > 0);
  });

const startWatcher = (): SpawnedProcess =>
  spawnNode(['services/watcher/main.ts'], {
    ...system.environment(),
    KAFKA_SESSION_TIMEOUT_MS: '3000',
    OPS_HOST: '127.0.0.1',
    OPS_PORT: '0',
  });

/** How many events a watcher has made. */
async function madeBy(watcher: SpawnedProcess): Promise<number> {
  const port = /"opsPort":(\d+)/.exec(watcher.stdout())?.[1];
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return [...text.matchAll(/^rolecall_watch_events_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
}

test('watchers that join and leave share the members: no change is missed, repeated or out of sequence', async () => {
  const stop = new AbortController();
  const movement = Promise.all(members.map((member) => keepMoving(member, stop.signal)));
  const phases = async () => {
    await waitForWatchers(1);
    await waitForChanges();
    await using first = startWatcher();
    await using second = startWatcher();
    await waitForWatchers(3);
    await waitForChanges();
    for (const watcher of [first, second])
      await waitUntil('events of each watcher', async () => (await madeBy(watcher)) > 0);
    expect(await first.kill('SIGTERM')).toBe(0);
    await second.kill('SIGKILL');
    await waitForWatchers(1);
    await waitForChanges();
  };
  // A member whose event does not come ends the test at once.
  await Promise.race([phases(), movement]).finally(() => stop.abort());
  await movement;

  const truth = new Map(members.map(({ ref, isHolder }) => [ref, isHolder]));
  expect(judgeWatchEvents(eventsOf(FOLLOWED), truth)).toEqual([]);
  const told = members.map((member) => [member.ref, eventCountOf(member)]);
  expect(told).toEqual(members.map(({ ref, changes }) => [ref, changes + 1]));
  // One id for each event, and one event for each id.
  const ids = new Map(arrivedOf(FOLLOWED).map(({ id, body }) => [id, body]));
  expect(ids.size).toBe(members.reduce((sum, { changes }) => sum + changes + 1, 0));

  await rolecall.watches.check(SWEPT);
  await waitUntilPasses(async () => expect(judgeWatchEvents(eventsOf(SWEPT), truth)).toEqual([]));
});
