import { makeCountDeadLetters } from './count-dead-letters.ts';

type Kafka = Parameters<typeof makeCountDeadLetters>[0];

/** A broker whose answers the test gives. */
function makeBroker(answer: () => Promise<unknown>) {
  let asked = 0;
  const fetchTopicOffsets = () => {
    asked += 1;
    return answer();
  };
  return { kafka: { admin: { fetchTopicOffsets } } as unknown as Kafka, askedCount: () => asked };
}

test('callers get an error when the broker does not answer in time, and share the count that still runs', async () => {
  const { kafka, askedCount } = makeBroker(() => new Promise(() => {}));
  const count = makeCountDeadLetters(kafka, 1);
  await expect(count()).rejects.toMatchObject({ code: 'broker-unavailable' });
  await expect(count()).rejects.toMatchObject({ code: 'broker-unavailable' });
  expect(askedCount()).toBe(1);
});

test('callers share the count that runs, and the next caller counts again, also after a failure', async () => {
  let answer = Promise.withResolvers<unknown>();
  const { kafka, askedCount } = makeBroker(() => answer.promise);
  const count = makeCountDeadLetters(kafka);
  const both = Promise.allSettled([count(), count()]);
  expect(askedCount()).toBe(1);
  answer.reject(new Error('away'));
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  answer = Promise.withResolvers();
  answer.resolve([]);
  expect(await count()).toEqual([]);
  expect(askedCount()).toBeGreaterThan(1);
});
