import { LANES } from '#shared/contracts/checks/check-requested.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { lagOf } from '../../judges/lag-of.ts';
import { atMost } from '../../judges/measure.ts';

const CAUGHT_UP_LAG = 100;

/** `preload/fail-fetch.ts` fakes the broker's answer in the chosen evaluator. */
export const f19ConsumerCrash: Fault = {
  id: 'F19',
  title: "a consumer's non-retriable crash",
  async run({ system, rest, seconds }) {
    const [victim] = system.running('evaluator');
    const said = system.lines.said().length;
    const toldAt = performance.now();
    if (victim) process.kill(victim.pid, 'SIGUSR2');
    await waitUntil('the process to end', () => !system.running().some(({ pid }) => pid === victim?.pid));
    const tookS = (performance.now() - toldAt) / 1_000;
    await system.waitUntilReady();
    await rest((seconds * 1_000) / 2);
    const lag = () => lagOf(system, CONSUMER_GROUPS.lanes.bulk, LANES.bulk.name);
    await waitUntil('the lag to fall', async () => (await lag()) < CAUGHT_UP_LAG);
    const end = system.lines
      .said()
      .slice(said)
      .find((line) => line.includes('ended'));
    const isNonZero = end !== undefined && /exit code [1-9]/.test(end);
    return () => ({
      figures: [atMost('ended after', tookS, 2, 's')],
      broken: isNonZero ? [] : [`the process ended in another way: ${end}`],
    });
  },
};
