import type { WatchMember } from '#shared/contracts/watches/watch.ts';
import { memberEventId } from '#shared/contracts/watches/watch-event.ts';
import { ServiceError } from '#shared/errors.ts';
import { aMember } from '../../../test/support/builders/a-watch.ts';
import { partially } from '../../../test/support/builders/partially.ts';
import type { Dependencies } from '../dependencies.ts';
import { makePublishChanges } from './publish-changes.ts';

const NOW = Date.parse('2026-11-22T12:00:00.000Z');
const UID = 'app_1/vip/1795345200000';
const member = (memberId: string, version: number, event?: string): WatchMember =>
  aMember({ watchUid: UID, memberId, version, ...(event ? { event, sequence: 1 } : {}) });
const eventOf = (one: WatchMember) => `webhook.requested.v1 ${memberEventId(one, 1)}`;
const told = member('told', NOW, '{}');

/** Publishes the outbox of a partition; `uid` is the watch that there is. */
async function publish(members: readonly WatchMember[], uid: string, tooLarge?: string): Promise<string[]> {
  const published: string[] = [];
  const { publishOutbox } = makePublishChanges(
    partially<Dependencies>({
      publish: async (topic, message) => {
        const { memberId, requestId } = message as { memberId?: string; requestId?: string };
        if (memberId === tooLarge && memberId) throw new ServiceError('message-too-large', 'too large');
        published.push(`${topic.name} ${memberId ?? requestId}`);
      },
      members: {
        outbox: async () => members.map(({ memberId }) => ({ watchUid: UID, memberId })),
        async *readInPages() {
          yield members;
        },
        project: async () => false,
        markSent: async () => true,
      },
      watches: {
        readByUid: async (asked) =>
          asked === uid ? ({ clientId: 'app_1', callbackUrl: 'https://example.com/' } as never) : undefined,
      },
      log: { error: ({ memberId }: { memberId?: string }) => void published.push(`too large: ${memberId}`) },
      now: () => NOW,
    }),
  );
  await publishOutbox(0);
  return published;
}

test('the outbox publishes events at once, and leaves members that a gateway is publishing to the gateway', async () => {
  const members = [member('added', NOW - 500), member('left', NOW - 60_000), told];
  expect(await publish(members, UID)).toEqual([
    'watch-member.v1 left',
    'watch-member.v1 told',
    eventOf(told),
  ]);
});

test('an unsent event of a deleted watch is not sent to the receiver of a new watch with the same id', async () => {
  expect(await publish([told], 'app_1/vip/1795349999999')).toEqual(['watch-member.v1 told']);
});

test('a member that is too large to be published stops no other member, and is logged', async () => {
  const members = [member('large', NOW, '{}'), told];
  expect(await publish(members, UID, 'large')).toEqual([
    'watch-member.v1 told',
    'too large: large',
    eventOf(told),
  ]);
});
