import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';

export const f09KillLeader: Fault = {
  id: 'F9',
  title: 'three brokers, leader of a third of the partitions killed',
  needs: { brokers: 3 },
  isDestructive: true,
  async run({ system, seconds, random, rest, ledger }) {
    const brokers = system.cluster?.others ?? [];
    const killedAt = Date.now();
    await brokers[random.below(brokers.length)]?.kill9();
    await rest(seconds * 1_000);
    return () => {
      const ends = ledger.attempts.flatMap(({ startedAt, tookMs = 0, status = 500 }) =>
        status < 300 ? [startedAt + tookMs] : [],
      );
      const after = [killedAt, ...ends.filter((at) => at >= killedAt).sort((a, b) => a - b)];
      const pauses = after.slice(1).map((at, i) => at - (after[i] ?? at));
      return { figures: [atMost('longest pause', Math.max(...pauses) / 1_000, 15, 's')] };
    };
  },
};
