import { DeliverySlots, type Slot } from './delivery-slots.ts';

let nowMs = 0;
let slots: DeliverySlots;

beforeEach(() => {
  nowMs = 0;
  slots = new DeliverySlots(() => nowMs);
});
afterEach(() => slots[Symbol.dispose]());

const origin = (name: string) => `https://${name}.example`;
const appOf = (clientId: string, accountId = `acc_of_${clientId}`) => ({ accountId, clientId });
const acquire = (name: string, client = 'app_1') => slots.acquire(appOf(client), origin(name), 100);

const settling = () => new Promise((resolve) => setImmediate(resolve));

/** Settled results so far; a pending one is absent. */
async function settledOf(promises: readonly Promise<Slot | undefined>[]) {
  const settled: (Slot | undefined)[] = [];
  for (const promise of promises) void promise.then((slot) => settled.push(slot));
  await settling();
  return settled;
}

async function takeMany(name: string, count: number, client?: string): Promise<Slot[]> {
  const found = await settledOf(Array.from({ length: count }, () => acquire(name, client)));
  return found.filter((slot) => slot !== undefined);
}

test('gives one receiver at most 8 slots, and makes the ninth message wait', async () => {
  const taken = await takeMany('a', 8);
  expect(taken).toHaveLength(8);
  const ninth = acquire('a');
  expect(await settledOf([ninth])).toEqual([]);
  expect(slots.waitingCount).toBe(1);
  taken[0]?.release(true);
  expect(await settledOf([ninth])).toEqual([expect.anything()]);
  expect(slots.inFlightCount).toBe(8);
});

test('an account with 500 client apps leaves slots at an origin to others, also if its receivers answer well', async () => {
  const taken: (Slot | undefined)[] = [];
  for (let round = 0; round < 2; round += 1)
    for (let i = 0; i < 500; i += 1) {
      const own = slots.acquire(appOf(`app_${i}`, 'acc_big'), origin('a'), 100);
      const [slot] = await settledOf([own]);
      if (round === 0) slot?.release(true);
      else taken.push(slot);
    }
  expect(slots.inFlightCount).toBe(12);
  expect(await takeMany('a', 8, 'other')).toHaveLength(4);
});

test('gives one origin at most 32 slots, and a first one to each of many accounts', async () => {
  for (let i = 0; i < 40; i += 1) await takeMany('a', 8, `app_${i}`);
  expect(slots.inFlightCount).toBe(32);
});

test('a freed slot costs as much with 2 000 waiting accounts as with 100', async () => {
  const readsPerRelease = async (waitingCount: number): Promise<number> => {
    let reads = 0;
    using many = new DeliverySlots(() => {
      reads += 1;
      return 0;
    });
    const ask = (client: string, name: string) => many.acquire(appOf(client), origin(name), 100);
    const taken: (Slot | undefined)[] = [];
    for (let i = 0; i < 512; i += 1) taken.push(...(await settledOf([ask(`holder_${i}`, `h-${i}`)])));
    const waiting = Array.from({ length: waitingCount }, (_, i) => ask(`app_${i}`, `w-${i}`));
    await settling();
    expect([many.inFlightCount, many.waitingCount]).toEqual([512, waitingCount]);
    reads = 0;
    taken[0]?.release(undefined);
    const spent = reads;
    many[Symbol.dispose]();
    await Promise.all(waiting);
    return spent;
  };
  expect(await readsPerRelease(2_000)).toBe(await readsPerRelease(100));
});

test('a receiver whose slot becomes free is served, however many others wait without room', async () => {
  const own = await takeMany('own', 8, 'app_own');
  const waiting = acquire('own', 'app_own');
  const others: Promise<Slot | undefined>[] = [];
  for (let i = 0; i < 50; i += 1) {
    await takeMany(`other-${i}`, 8, `app_${i}`);
    others.push(acquire(`other-${i}`, `app_${i}`));
  }
  own[0]?.release(true);
  expect(await settledOf([waiting])).toEqual([expect.anything()]);
  slots[Symbol.dispose]();
  await Promise.all(others);
});

test('lets a burst to a fast receiver wait, and defers none of it', async () => {
  const burst = Array.from({ length: 1_000 }, () => acquire('fast'));
  let done = 0;
  for (const each of burst)
    void each.then(async (slot) => {
      if (slot === undefined) return;
      done += 1;
      nowMs += 0.25;
      slot.release(true);
    });
  for (let i = 0; i < 5_000 && done < 1_000; i += 1) await Promise.resolve();
  expect(done).toBe(1_000);
});

test('defers a message at once if its expected wait is above a second', async () => {
  const slow = await takeMany('slow', 8);
  nowMs = 3_000;
  for (const slot of slow) slot.release(true);
  await takeMany('slow', 8);
  const [fits] = [acquire('slow'), acquire('slow')];
  // 3 s in 8 slots: the third would wait for 1.1 s.
  expect(await acquire('slow')).toBeUndefined();
  expect(await settledOf([fits])).toEqual([]);
});

test('defers waiting messages within about a second after their receiver began to hang', async () => {
  await takeMany('hangs', 8);
  const waiting = Array.from({ length: 50 }, () => acquire('hangs'));
  expect(await settledOf(waiting)).toEqual([]);
  nowMs = 1_000;
  slots.sweep();
  expect(await settledOf(waiting)).toHaveLength(42);
  nowMs = 2_001;
  slots.sweep();
  expect(await settledOf(waiting)).toEqual(Array.from({ length: 50 }, () => undefined));
  expect(slots.waitingCount).toBe(0);
});

test('knows how often a receiver frees a slot while it takes its messages, and of no other', async () => {
  const ofA = () => slots.msPerMessage(appOf('app_1'), origin('a'));
  const attempt = async (isHealthy: boolean, durationMs: number) => {
    const [slot] = await takeMany('a', 1);
    nowMs += durationMs;
    slot?.release(isHealthy);
  };
  expect(ofA()).toBeUndefined();
  await attempt(true, 800);
  nowMs += 3_600_000;
  expect(ofA()).toBe(100);
  await attempt(false, 800);
  expect(ofA()).toBeUndefined();
  await attempt(true, 800);
  nowMs += 1;
  await takeMany('a', 1);
  nowMs += 2_001;
  // It hangs.
  expect(ofA()).toBeUndefined();
});

test('lets at most 4 096 messages wait for one receiver', async () => {
  await takeMany('a', 8);
  const waiting = Array.from({ length: 4_096 }, () => acquire('a'));
  expect(await acquire('a')).toBeUndefined();
  expect(slots.waitingCount).toBe(4_096);
  slots[Symbol.dispose]();
  await Promise.all(waiting);
});

test('keeps slots for healthy receivers while a hundred others hang', async () => {
  for (const slot of await takeMany('healthy', 8)) slot.release(true);
  for (let i = 0; i < 100; i += 1) await takeMany(`hangs-${i}`, 8);
  expect(slots.inFlightCount).toBe(112);
  expect(await takeMany('healthy', 8)).toHaveLength(8);
});

test('keeps hanging receivers to their share when slots become free', async () => {
  const healthy: Slot[] = [];
  for (let i = 0; i < 32; i += 1) {
    for (const slot of await takeMany(`healthy-${i}`, 1)) slot.release(true);
    healthy.push(...(await takeMany(`healthy-${i}`, 8)));
  }
  expect(slots.inFlightCount).toBe(128);
  const waiting = Array.from({ length: 400 }, (_, i) => acquire(`hangs-${i}`));
  for (const slot of healthy) slot.release(true);
  expect(slots.inFlightCount).toBeLessThanOrEqual(128);
  slots[Symbol.dispose]();
  await Promise.all(waiting);
});

test('keeps slots free when many healthy receivers begin to hang at once', async () => {
  for (const name of ['healthy', ...Array.from({ length: 100 }, (_, i) => `hangs-${i}`)])
    for (const slot of await takeMany(name, 1)) slot.release(true);
  // One message a second to each; attempts to hanging receivers never end.
  for (let second = 1; second <= 10; second += 1) {
    nowMs = second * 1_000;
    for (let i = 0; i < 100; i += 1) await takeMany(`hangs-${i}`, 1);
    const [slot] = await takeMany('healthy', 1);
    expect(slot).toBeDefined();
    slot?.release(true);
  }
});

test('gives free slots to the waiting client apps in turn', async () => {
  const first: Slot[] = [];
  for (let i = 0; i < 32; i += 1) first.push(...(await takeMany('a', 1, `holder_${i}`)));
  const order: string[] = [];
  for (const client of ['app_3', 'app_3', 'app_4'])
    void acquire('a', client).then((slot) => slot && order.push(client));
  for (const slot of first.slice(0, 2)) slot.release(true);
  await settling();
  expect(order).toEqual(['app_3', 'app_4']);
});

test('frees a slot once, however often it is released', async () => {
  const [slot] = await takeMany('a', 1);
  slot?.release(true);
  slot?.release(true);
  expect(slots.inFlightCount).toBe(0);
});

describe('a client app with many hanging receivers', () => {
  const hang = async (client: string, count: number): Promise<void> => {
    for (let i = 0; i < count; i += 1) await takeMany(`${client}-hangs-${i}`, 1, client);
  };

  test('leaves slots for first deliveries of other apps, which do not wait', async () => {
    await hang('greedy', 300);
    expect(slots.inFlightCount).toBe(112);
    for (let i = 0; i < 40; i += 1) {
      const [slot] = await takeMany('new', 1, `app_${i}`);
      expect([i, slot !== undefined]).toEqual([i, true]);
      slot?.release(true);
    }
  });

  test('leaves slots for other apps even if several apps have hanging receivers', async () => {
    const greedy = ['a', 'b', 'c', 'd'];
    for (let i = 0; i < 200; i += 1)
      for (const client of greedy) await takeMany(`${client}-hangs-${i}`, 1, client);
    expect(slots.inFlightCount).toBeLessThanOrEqual(224);
    expect(await takeMany('new', 8, 'other')).toHaveLength(8);
  });

  test('leaves every receiver of other apps its eight slots', async () => {
    await hang('greedy', 300);
    expect(await takeMany('new', 8, 'other')).toHaveLength(8);
  });

  test('has messages to a further receiver deferred at once, and other apps have none deferred', async () => {
    await hang('greedy', 112);
    nowMs = 15_000;
    const waiting = Array.from({ length: 50 }, (_, i) => acquire(`further-${i}`, 'greedy'));
    const asides = await settledOf(waiting);
    expect(asides.length).toBeGreaterThan(40);
    expect(asides.every((slot) => slot === undefined)).toBe(true);
    expect(await takeMany('new', 1, 'other')).toHaveLength(1);
  });

  test('cannot take all slots with receivers that answer well but slowly', async () => {
    for (let i = 0; i < 40; i += 1)
      for (const slot of await takeMany(`slow-${i}`, 1, 'greedy')) slot.release(true);
    for (let i = 0; i < 40; i += 1) await takeMany(`slow-${i}`, 8, 'greedy');
    expect(slots.inFlightCount).toBe(128);
    expect(await takeMany('new', 8, 'other')).toHaveLength(8);
  });

  test('leaves slots at a shared origin to the other apps', async () => {
    await takeMany('shared', 8, 'a');
    await takeMany('shared', 8, 'b');
    await takeMany('shared', 8, 'c');
    const [slot] = await takeMany('shared', 1, 'other');
    expect(slot).toBeDefined();
  });

  test('cannot use all the memory for waiting messages', async () => {
    const [big] = [16 * 1024 * 1024];
    await takeMany('a', 8, 'greedy');
    await takeMany('b', 8, 'other');
    const kept = slots.acquire(appOf('greedy'), origin('a'), big);
    expect(await slots.acquire(appOf('greedy'), origin('a'), 1)).toBeUndefined();
    const other = slots.acquire(appOf('other'), origin('b'), 1_000_000);
    expect(await settledOf([kept, other])).toEqual([]);
    slots[Symbol.dispose]();
    await Promise.all([kept, other]);
  });

  test('has no larger share with 500 client apps of its account', async () => {
    for (let i = 0; i < 500; i += 1)
      await settledOf([slots.acquire(appOf(`app_${i}`, 'acc_big'), origin(`hangs-${i}`), 100)]);
    expect(slots.inFlightCount).toBe(192);
    expect(await takeMany('new', 8, 'other')).toHaveLength(8);
  });
});
