import type { Usage } from '#shared/contracts/usage/usage.ts';
import type { AppHour } from '#shared/stores/usage/usage.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { partially } from '../../../test/support/builders/partially.ts';
import type { Dependencies } from '../dependencies.ts';
import { makePublishUsage } from './publish-usage.ts';

const figuresOf = (monthTotal: number, asOf: string, clientId = 'app_1'): Usage => ({
  clientId,
  hour: '2026-11-21T10',
  month: '2026-11',
  monthTotal,
  monthOfWatches: 0,
  day: {},
  ofHour: {},
  asOf,
});

function makePublisher(runs: Usage[][], { isMine = true, fails = (_: AppHour): boolean => false } = {}) {
  const sent: Usage[] = [];
  const alerted: Usage[] = [];
  let recent: Usage[] = [];
  let [reading, mostReading, completeCount] = [0, 0, 0];
  const publishUsage = makePublishUsage(
    partially<Dependencies>({
      usageFigures: {
        listRecent: async () => {
          recent = runs.shift() ?? [];
          return recent.map(({ clientId }) => ({ clientId, hour: 1 }));
        },
        read: async (appHour) => {
          mostReading = Math.max(mostReading, ++reading);
          await new Promise(setImmediate);
          reading--;
          const found = recent.find(({ clientId }) => clientId === appHour.clientId);
          if (!found || fails(appHour)) throw new Error('Redis did not answer in time');
          return found;
        },
        lockPublishing: async () => isMine,
      },
      kafka: { publish: async (_, message) => void sent.push(message as Usage) },
      metrics: {
        noteComplete: () => void completeCount++,
      },
      now: () => 0,
      log: makeSilentLogger(),
    }),
    async (usage) => void alerted.push(usage),
  );
  return {
    publishUsage,
    sent,
    alerted,
    mostReading: () => mostReading,
    completeCount: () => completeCount,
  };
}

test('an hour is published again when its totals grew, and not when only time passed', async () => {
  const [first, later, grown] = [figuresOf(1, 'a'), figuresOf(1, 'b'), figuresOf(2, 'c')];
  const { publishUsage, sent, alerted, completeCount } = makePublisher([[first], [later], [grown]]);
  await publishUsage();
  await publishUsage();
  await publishUsage();
  expect(sent).toEqual([first, grown]);
  expect(alerted).toEqual([first, grown]);
  expect(completeCount()).toBe(3);
});

test('only the process that holds the lock publishes', async () => {
  const { publishUsage, sent, completeCount } = makePublisher([[figuresOf(1, 'a')]], { isMine: false });
  await publishUsage();
  expect(sent).toEqual([]);
  expect(completeCount()).toBe(0);
});

test('the totals of thousands of apps are read some at a time, so that each is answered in time', async () => {
  const apps = Array.from({ length: 5_000 }, (_, i) => figuresOf(1, 'a', `app_${i}`));
  const { publishUsage, sent, mostReading } = makePublisher([apps]);
  await publishUsage();
  expect(sent).toHaveLength(5_000);
  expect(mostReading()).toBeLessThanOrEqual(100);
});

test('an unreadable total does not delay the others, and the run does not count as complete', async () => {
  const apps = ['app_1', 'app_2', 'app_3'].map((id) => figuresOf(1, 'a', id));
  let isAway = true;
  const { publishUsage, sent, completeCount } = makePublisher([apps, apps], {
    fails: ({ clientId }) => clientId === 'app_2' && isAway,
  });
  await publishUsage();
  expect(sent.map(({ clientId }) => clientId)).toEqual(['app_1', 'app_3']);
  expect(completeCount()).toBe(0);
  isAway = false;
  await publishUsage();
  expect(sent.map(({ clientId }) => clientId)).toEqual(['app_1', 'app_3', 'app_2']);
  expect(completeCount()).toBe(1);
});
