import type { Usage } from '#shared/contracts/usage.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { makePublishUsage } from './publish-usage.ts';

const figuresOf = (accepted: number, asOf: string): Usage => ({
  clientId: 'app_1',
  hour: '2026-11-21T10',
  accepted,
  refused: 0,
  month: '2026-11',
  monthTotal: accepted,
  asOf,
});

function makePublisher(recent: Usage[][], isMine = true) {
  const sent: Usage[] = [];
  const publishUsage = makePublishUsage({
    figures: { readRecent: async () => recent.shift() ?? [], lockPublishing: async () => isMine },
    publish: async (usage) => void sent.push(usage),
    now: () => 0,
    log: makeSilentLogger(),
  });
  return { publishUsage, sent };
}

test('an hour is published again when its totals grew, and not when only time passed', async () => {
  const [first, later, grown] = [figuresOf(1, 'a'), figuresOf(1, 'b'), figuresOf(2, 'c')];
  const { publishUsage, sent } = makePublisher([[first], [later], [grown]]);
  await publishUsage();
  await publishUsage();
  await publishUsage();
  expect(sent).toEqual([first, grown]);
});

test('only the process that holds the lock publishes', async () => {
  const { publishUsage, sent } = makePublisher([[figuresOf(1, 'a')]], false);
  await publishUsage();
  expect(sent).toEqual([]);
});
