import { BodyReads } from './body-reads.ts';
import type { Problem } from './problem.ts';

const makeBodies = (countMax: number, timeoutMs = 60_000) => new BodyReads({ countMax, timeoutMs });

/** A body whose end the test decides. */
function aBody(bodies: BodyReads, owner: string) {
  const { promise, resolve } = Promise.withResolvers<string>();
  const read = bodies.read(owner, () => promise);
  const outcome = read.catch(({ code }: Problem) => code);
  return { outcome, send: () => resolve(`the body of ${owner}`) };
}

test('the oldest unfinished body of an owner gives way to its newest', async () => {
  const bodies = makeBodies(4);
  const [first, second, third] = [aBody(bodies, 'a'), aBody(bodies, 'a'), aBody(bodies, 'a')];
  expect(await first.outcome).toBe('overloaded');
  for (const each of [second, third]) each.send();
  expect(await Promise.all([second.outcome, third.outcome])).toEqual(['the body of a', 'the body of a']);
  expect(bodies.count).toBe(0);
});

test("an owner's unfinished bodies never take another owner's place", async () => {
  const bodies = makeBodies(8);
  const greedy = Array.from({ length: 50 }, () => aBody(bodies, 'greedy'));
  expect(bodies.count).toBe(3);
  const other = aBody(bodies, 'other');
  other.send();
  expect(await other.outcome).toBe('the body of other');
  for (const { send } of greedy) send();
  const outcomes = await Promise.all(greedy.map(({ outcome }) => outcome));
  expect(outcomes.filter((outcome) => outcome === 'the body of greedy')).toHaveLength(3);
});

test('a body finds no place where all are taken by others', async () => {
  const bodies = makeBodies(1);
  const one = aBody(bodies, 'one');
  expect(await aBody(bodies, 'another').outcome).toBe('overloaded');
  one.send();
  expect(await one.outcome).toBe('the body of one');
});

test('a body that takes too long is given up, and frees its place', async () => {
  const bodies = makeBodies(2, 1);
  expect(await aBody(bodies, 'slow').outcome).toBe('request-timeout');
  expect(bodies.count).toBe(0);
});

test('a body that fails frees its place', async () => {
  const bodies = makeBodies(2);
  await expect(bodies.read('a', () => Promise.reject(new Error('the client went away')))).rejects.toThrow(
    'the client went away',
  );
  expect(bodies.count).toBe(0);
});
