import type { Watch } from '#shared/contracts/watches/watch.ts';
import { memberEventId } from '#shared/contracts/watches/watch-event.ts';
import type { DeliveryView } from '#shared/stores/webhooks/deliveries.ts';
import { aMember, atSecond, aWatch } from '../../../../test/support/builders/a-watch.ts';
import { partially } from '../../../../test/support/builders/partially.ts';
import { makeReadWatchEvents } from './read-watch-events.ts';

const DAY_MS = 86_400_000;
const watch = aWatch();

const aDelivery = (requestId: string, over: Partial<DeliveryView> = {}): DeliveryView => ({
  requestId,
  clientId: 'app_1',
  callbackUrl: 'https://client.example/hook',
  state: 'delivered',
  resendCount: 0,
  acceptedAt: atSecond(1),
  retainUntil: atSecond(0),
  nextAttemptAt: undefined,
  attempts: [],
  ...over,
});

const bodyOf = (watchId: string, over: object = {}) =>
  JSON.stringify({
    type: 'roles.changed',
    watchId,
    ref: 'm1',
    sequence: 1,
    cause: 'first',
    roles: [],
    ...over,
  });

type Stored = { ids?: string[]; bodies?: Record<string, string>; deliveries?: DeliveryView[] };

/** A reader over these ids, newest first, with its requests. */
function readerOf({ ids = [], bodies = {}, deliveries = [] }: Stored, member = aMember()) {
  const asked = { bodies: 0, sinceMs: 0 };
  const reader = makeReadWatchEvents(
    partially<Parameters<typeof makeReadWatchEvents>[0]>({
      deliveries: {
        async listIds(_, { before, sinceMs = 0, countMax }) {
          asked.sinceMs = sinceMs;
          const from = before === undefined ? 0 : ids.indexOf(before) + 1;
          return ids.slice(from, from + countMax);
        },
        readMany: async (wanted) => deliveries.filter(({ requestId }) => wanted.includes(requestId)),
      },
      results: {
        async readMany(wanted) {
          asked.bodies += wanted.length;
          return wanted.map((id) => bodies[id]);
        },
      },
      watchMembers: {
        readMany: async (_, memberIds) =>
          memberIds.map((id) => (id === member.memberId ? member : undefined)),
      },
      now: () => Date.parse(watch.createdAt) + DAY_MS,
    }),
  );
  return { reader, asked };
}

test("lists the events of a watch, without other watches' events and other webhooks", async () => {
  const { reader, asked } = readerOf({
    ids: ['watch_c', 'watch_other', '0198-check', 'watch_b', 'watch_gone'],
    bodies: {
      watch_c: JSON.stringify({ type: 'watch.held', watchId: 'w', roles: [] }),
      watch_other: bodyOf('another'),
      watch_b: bodyOf('w'),
      '0198-check': '{}',
    },
    deliveries: [aDelivery('watch_c', { state: 'pending' }), aDelivery('watch_b')],
  });
  expect(await reader(watch, { countMax: 10 })).toEqual({
    events: [
      expect.objectContaining({ eventId: 'watch_c', delivery: 'pending', at: atSecond(1) }),
      expect.objectContaining({ eventId: 'watch_b', delivery: 'delivered' }),
    ],
  });
  expect(asked).toEqual({ bodies: 4, sinceMs: Date.parse(watch.createdAt) });
});

test('pages through the events of a watch without a gap or a repetition', async () => {
  const ids = Array.from({ length: 120 }, (_, i) => `watch_${i}`);
  const bodies = Object.fromEntries(ids.map((id, i) => [id, bodyOf(i % 2 === 0 ? 'w' : 'another')]));
  const { reader } = readerOf({ ids, bodies });
  const seen: string[] = [];
  let before: string | undefined;
  do {
    const { events, next } = await reader(watch, { before, countMax: 7 });
    seen.push(...events.map(({ eventId }) => eventId));
    before = next;
  } while (before !== undefined);
  expect(seen).toEqual(ids.filter((_, i) => i % 2 === 0));
});

test('passes over webhooks of checks without reading their bodies, and stops after 1 000 bodies', async () => {
  const checks = Array.from({ length: 1_200 }, (_, i) => `0198-${i}`);
  const foreign = Array.from({ length: 2_000 }, (_, i) => `watch_${i}`);
  const bodies = Object.fromEntries(foreign.map((id) => [id, bodyOf('another')]));
  const { reader, asked } = readerOf({ ids: [...checks, ...foreign], bodies });
  const page = await reader(watch, { countMax: 25 });
  expect(page.events).toEqual([]);
  expect(asked.bodies).toBeGreaterThanOrEqual(1_000);
  expect(asked.bodies).toBeLessThan(1_500);
  expect(page.next).toBe(`watch_${asked.bodies - 1}`);
});

test('lists no event that is older than 72 hours', async () => {
  const old: Watch = {
    ...watch,
    createdAt: new Date(Date.parse(watch.createdAt) - 9 * DAY_MS).toISOString(),
  };
  const { reader, asked } = readerOf({});
  await reader(old, { countMax: 10 });
  expect(asked.sinceMs).toBe(Date.parse(watch.createdAt) - 2 * DAY_MS);
});

test('finds the events of a member by their sequence, also those that no dispatcher has taken', async () => {
  const member = aMember({ sequence: 5 });
  const idOf = (sequence: number) => memberEventId(member, sequence);
  const bodies = Object.fromEntries(
    [1, 2, 3, 4, 5].map((sequence) => [
      idOf(sequence),
      bodyOf('w', { sequence, evaluatedAt: atSecond(sequence) }),
    ]),
  );
  const { reader } = readerOf({ bodies, deliveries: [aDelivery(idOf(4))] }, member);
  const account = `0x${member.wallets.account.slice(2).toUpperCase()}`;
  const first = await reader(watch, { member: account, countMax: 2 });
  expect(first).toEqual({
    events: [
      { eventId: idOf(5), at: atSecond(5), event: expect.objectContaining({ sequence: 5 }) },
      {
        eventId: idOf(4),
        at: atSecond(1),
        delivery: 'delivered',
        event: expect.objectContaining({ sequence: 4 }),
      },
    ],
    next: '4',
  });
  const second = await reader(watch, { member: account, before: first.next, countMax: 3 });
  expect(second.events.map(({ event }) => event['sequence'])).toEqual([3, 2, 1]);
  expect(second.next).toBeUndefined();
});

test('ends the events of a member where no body is kept, and at a position that is none', async () => {
  const { reader } = readerOf({}, aMember({ sequence: 500 }));
  expect(await reader(watch, { member: aMember().memberId, countMax: 10 })).toEqual({ events: [] });
  expect(await reader(watch, { member: aMember().memberId, before: 'x', countMax: 10 })).toEqual({
    events: [],
  });
  expect(await reader(watch, { member: aMember().memberId, before: '-3', countMax: 10 })).toEqual({
    events: [],
  });
});

test('refuses a member that the watch does not have', async () => {
  const { reader } = readerOf({});
  await expect(reader(watch, { member: 'nobody', countMax: 10 })).rejects.toMatchObject({
    code: 'not-found',
  });
});
