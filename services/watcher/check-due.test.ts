import type { WatchMember } from '#shared/contracts/watch.ts';
import { aRuleSet } from '../../test/support/a-rule-set.ts';
import { aMember, atSecond, aWatch } from '../../test/support/a-watch.ts';
import type { AskedChecks } from './ask-checks.ts';
import { makeCheckDue } from './check-due.ts';

const seen = (memberId: string, over: Partial<WatchMember> = {}) =>
  aMember({ memberId, checkedAt: atSecond(1), unreadSince: atSecond(1), ...over });

async function askedFor(
  members: readonly WatchMember[],
  postpone: (memberIds: string[], atMs: number) => void = () => undefined,
): Promise<AskedChecks[]> {
  const asked: AskedChecks[] = [];
  await makeCheckDue({
    watches: { readByUid: async () => aWatch() },
    ruleSets: { read: async () => aRuleSet('app_1', 'set') },
    members: {
      oldestDueAt: async () => 0,
      due: async () => members.map(({ memberId }) => ({ uid: 'app_1/w/1', memberId })),
      postpone: async (names: { memberId: string }[], atMs: number) =>
        postpone(
          names.map(({ memberId }) => memberId),
          atMs,
        ),
      readMany: async () => [...members],
    },
    askChecks: async (checks: AskedChecks) => asked.push(checks) > 0,
    partitions: [0, 1],
    isOwned: (partition: number) => partition === 0,
    now: () => Date.parse(atSecond(100)),
  } as unknown as Parameters<typeof makeCheckDue>[0])();
  return asked;
}

const idsOf = ({ members }: AskedChecks) => members.map(({ memberId }) => memberId);

test('the retry of a transfer that could not be read asks for its block or a later one, and is charged for an event alone', async () => {
  const asked = await askedFor([
    aMember({ memberId: 'new' }),
    seen('unread'),
    seen('transferred', { awaitedBlocks: { '1': 7, '10': 3 } }),
    seen('transferred too', { awaitedBlocks: { '1': 9 } }),
  ]);
  expect(asked.map((each) => [idsOf(each), each.cause, each.isCharged, each.minBlock])).toEqual([
    [['new'], 'schedule', true, undefined],
    [['unread'], 'schedule', false, undefined],
    [['transferred', 'transferred too'], 'transfer', false, { '1': 9, '10': 3 }],
  ]);
});

test('a check of a new member is requested again at doubling intervals while its answer is slow', async () => {
  const calls: [string[], number][] = [];
  const members = [
    aMember({ memberId: 'recent', walletsAt: atSecond(99) }),
    aMember({ memberId: 'waiting', walletsAt: atSecond(20) }),
    seen('unread', { walletsAt: atSecond(0) }),
  ];
  await askedFor(members, (memberIds, atMs) => calls.push([memberIds, atMs]));
  expect(calls).toEqual([
    [['recent', 'waiting', 'unread'], Date.parse(atSecond(160))],
    [['waiting'], Date.parse(atSecond(180))],
  ]);
});
