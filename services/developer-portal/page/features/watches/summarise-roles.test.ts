import { type Event, summariseRoles } from './summarise-roles.ts';

const summarise = (event: object) => summariseRoles(event as Event);

test('says which roles were gained and lost, and leaves out those that have not changed', () => {
  const roles = [
    { id: 'vip', granted: true, before: false },
    { id: 'gold', granted: false, before: true },
    { id: 'first', granted: true, before: null },
    { id: 'none', granted: false, before: null },
    { id: 'same', granted: true, before: true },
    { id: 'still-not', granted: false, before: false },
  ];
  expect(summarise({ type: 'roles.changed', roles })).toEqual([
    { id: 'vip', tone: 'good', text: 'Gained' },
    { id: 'gold', tone: 'bad', text: 'Lost' },
    { id: 'first', tone: 'good', text: 'Gained' },
    { id: 'none', tone: 'quiet', text: 'Without' },
  ]);
});

test('says how many holders the held revocations are about', () => {
  const roles = [{ id: 'vip', holders: 6, revocations: 4 }];
  expect(summarise({ type: 'watch.held', roles })).toEqual([
    { id: 'vip', tone: 'warn', text: '4 of 6 would lose' },
  ]);
});

test('returns an empty list for an event without roles', () => {
  expect(summarise({ type: 'watch.something' })).toEqual([]);
});

test('the chains of a message about blindness are listed', () => {
  const chains = [{ chainId: 5, since: '2026-11-22T10:00:00.000Z' }];
  expect(summarise({ type: 'watch.stalled', chains })).toEqual([
    { id: 'Chain 5', tone: 'warn', text: 'cannot be read' },
  ]);
  expect(summarise({ type: 'watch.recovered', chains })).toMatchObject([{ tone: 'good' }]);
});
