import type { WatchMember } from '#shared/contracts/watches/watch.ts';
import { ServiceError } from '#shared/errors.ts';
import { makePublishChanges } from './publish-changes.ts';

const NOW = Date.parse('2026-11-22T12:00:00.000Z');
const aMember = (memberId: string, version: number, event?: WatchMember['event']): WatchMember => ({
  clientId: 'app_1',
  watchId: 'vip',
  watchCreatedAt: '2026-11-22T11:00:00.000Z',
  memberId,
  version,
  account: '0x52908400098527886E0F7030069857D2E4169EE7',
  ref: memberId,
  addedAt: '2026-11-22T11:30:00.000Z',
  walletsAt: '2026-11-22T11:30:00.000Z',
  sequence: event ? 1 : 0,
  roles: [],
  seen: {},
  errors: [],
  ...(event ? { event } : {}),
});

const UID = 'app_1/vip/1795345200000';
const event = { id: 'watch_1', json: '{}', at: '2026-11-22T12:00:00.000Z' };

/** Publishes the outbox of a partition; `uid` is the watch that there is. */
async function publish(members: readonly WatchMember[], uid: string, tooLarge?: string): Promise<string[]> {
  const published: string[] = [];
  const { publishOutbox } = makePublishChanges({
    publish: async (topic, message) => {
      const { memberId, requestId } = message as { memberId?: string; requestId?: string };
      if (memberId === tooLarge && memberId) throw new ServiceError('message-too-large', 'too large');
      published.push(`${topic.name} ${memberId ?? requestId}`);
    },
    members: {
      outbox: async () => members.map(({ memberId }) => ({ uid: UID, memberId })),
      async *readInPages() {
        yield members;
      },
      readNewer: async () => undefined,
      readMany: async () => [],
      project: async () => false,
      markSent: async () => true,
    },
    watches: {
      readByUid: async (asked) =>
        asked === uid ? ({ clientId: 'app_1', callbackUrl: 'https://example.com/' } as never) : undefined,
    },
    onUnpublishable: ({ memberId }) => void published.push(`too large: ${memberId}`),
    now: () => NOW,
  });
  await publishOutbox(0);
  return published;
}

test('the outbox publishes events at once, and leaves members that a gateway is publishing to the gateway', async () => {
  const members = [aMember('added', NOW - 500), aMember('left', NOW - 60_000), aMember('told', NOW, event)];
  expect(await publish(members, UID)).toEqual([
    'watch-member.v1 left',
    'watch-member.v1 told',
    'webhook.requested.v1 watch_1',
  ]);
});

test('an unsent event of a deleted watch is not sent to the receiver of a new watch with the same id', async () => {
  expect(await publish([aMember('told', NOW, event)], 'app_1/vip/1795349999999')).toEqual([
    'watch-member.v1 told',
  ]);
});

test('a member that is too large to be published stops no other member, and is logged', async () => {
  const members = [aMember('large', NOW, event), aMember('told', NOW, event)];
  expect(await publish(members, UID, 'large')).toEqual([
    'watch-member.v1 told',
    'too large: large',
    'webhook.requested.v1 watch_1',
  ]);
});
