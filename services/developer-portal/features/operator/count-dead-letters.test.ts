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
  const count = makeCountDeadLetters(kafka, () => 0, 1);
  await expect(count()).rejects.toMatchObject({ code: 'broker-unavailable' });
  await expect(count()).rejects.toMatchObject({ code: 'broker-unavailable' });
  expect(askedCount()).toBe(1);
});

test('a failure is not cached, and a count is, for 10 s', async () => {
  let isUp = false;
  const { kafka, askedCount } = makeBroker(async () => {
    if (!isUp) throw new Error('away');
    return [];
  });
  let nowMs = 1;
  const count = makeCountDeadLetters(kafka, () => nowMs);
  await expect(count()).rejects.toThrow('away');
  isUp = true;
  expect(await count()).toEqual([]);
  const asked = askedCount();
  nowMs = 10_001;
  await count();
  expect(askedCount()).toBe(asked);
  nowMs = 10_002;
  await count();
  expect(askedCount()).toBeGreaterThan(asked);
});
