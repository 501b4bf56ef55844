import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { InFlight } from './in-flight.ts';

const aResponse = () => {
  const socket = { destroy: jest.fn() };
  return Object.assign(new EventEmitter(), { req: { socket } }) as unknown as ServerResponse;
};
const isCut = ({ req }: ServerResponse) => jest.mocked(req.socket.destroy).mock.calls.length > 0;
const appOf = (accountId: string) => ({ accountId, clientId: `app_of_${accountId}` });

/** A request of an account that is in flight. */
function enter(inFlight: InFlight, accountId: string): ServerResponse {
  const response = aResponse();
  expect([inFlight.enter(response), inFlight.assign(response, appOf(accountId))]).toEqual([true, true]);
  return response;
}

const make = () =>
  new InFlight({ countMax: 100, bytes: { max: 800, ofOneMax: 100 }, observe: () => undefined });

test('bounds the memory of bodies by account, and leaves a first body to others', () => {
  const inFlight = make();
  let held = 0;
  for (let i = 0; i < 20; i += 1) if (inFlight.hold(enter(inFlight, 'greedy'), 100)) held += 1;
  expect(held).toBe(2);
  expect(inFlight.hold(enter(inFlight, 'other'), 100)).toBe(true);
});

test('the memory of a body is free once the request needs it no more, and when its connection closes', () => {
  const inFlight = make();
  const [first, second] = [enter(inFlight, 'a'), enter(inFlight, 'a')];
  expect([inFlight.hold(first, 100), inFlight.hold(second, 100)]).toEqual([true, true]);
  const third = enter(inFlight, 'a');
  expect(inFlight.hold(third, 100)).toBe(false);
  inFlight.free(first);
  inFlight.free(first);
  expect(inFlight.hold(third, 100)).toBe(true);
  second.emit('close');
  expect(inFlight.hold(enter(inFlight, 'a'), 100)).toBe(true);
});

test('the memory of an answer without an owner is that of its visitor, until it has ended', () => {
  const inFlight = make();
  const hold = (visitor?: string) => {
    const response = aResponse();
    inFlight.enter(response);
    return { isHeld: inFlight.hold(response, 100, visitor), response };
  };
  const held = Array.from({ length: 20 }, () => hold('visitor')).filter(({ isHeld }) => isHeld);
  expect(held).toHaveLength(3);
  held[0]?.response.emit('close');
  expect(hold('visitor').isHeld).toBe(true);
  expect([hold('another').isHeld, hold().isHeld]).toEqual([true, true]);
});

test('an answer that is due takes the place of the oldest ones of its account that nobody reads', () => {
  const inFlight = new InFlight({
    countMax: 100,
    bytes: { max: 2_000, ofOneMax: 100 },
    observe: () => undefined,
  });
  const answer = (account: string, isDue: boolean) => {
    const response = enter(inFlight, account);
    return { response, isHeld: inFlight.holdAnswer(response, 100, { visitor: 'v', isDue }) };
  };
  const other = answer('other', true).response;
  const body = enter(inFlight, 'greedy');
  expect(inFlight.hold(body, 100)).toBe(true);
  const tried = Array.from({ length: 20 }, () => answer('greedy', false));
  const held = tried.filter(({ isHeld }) => isHeld).map(({ response }) => response);
  expect(held.length).toBeGreaterThan(2);
  expect(answer('greedy', true).isHeld).toBe(true);
  expect([other, body, ...held].filter(isCut)).toEqual([held[0]]);
  held[1]?.emit('close');
  expect(answer('greedy', true).isHeld).toBe(true);
  expect([other, body, ...held].filter(isCut)).toEqual([held[0]]);
});

test('an answer that is due is refused where its account has no other that is not read', () => {
  const inFlight = make();
  for (let i = 0; i < 2; i += 1) expect(inFlight.hold(enter(inFlight, 'a'), 100)).toBe(true);
  const due = enter(inFlight, 'a');
  expect(inFlight.holdAnswer(due, 100, { visitor: 'v', isDue: true })).toBe(false);
});

test('refuses requests beyond the number, of owners and of unknown senders', () => {
  const inFlight = new InFlight({ countMax: 1, observe: () => undefined });
  enter(inFlight, 'a');
  const unknown = aResponse();
  expect(inFlight.enter(unknown)).toBe(true);
  expect(inFlight.enter(aResponse())).toBe(false);
  expect(inFlight.assign(unknown, appOf('b'))).toBe(false);
});

test('a burst of senders that are not known yet leaves a first place to others', () => {
  const inFlight = new InFlight({ countMax: 8, observe: () => undefined });
  for (let i = 0; i < 2; i += 1) enter(inFlight, 'greedy');
  const burst = Array.from({ length: 7 }, aResponse);
  expect(burst.every((response) => inFlight.enter(response))).toBe(true);
  enter(inFlight, 'other');
  expect(burst.some((response) => inFlight.assign(response, appOf('greedy')))).toBe(false);
});
