import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';

export const f05KillAll: Fault = {
  id: 'F5',
  title: 'every process killed at once, Kafka and Redis too',
  async run({ system, seconds, rest, load }) {
    await rest((seconds * 1_000) / 2);
    // The chain is not part of Rolecall.
    for (const { service, pid } of system.running()) if (service !== 'chain') process.kill(pid, 'SIGKILL');
    await load.stop();
    const killedAt = performance.now();
    await system.waitUntilReady();
    const backS = (performance.now() - killedAt) / 1_000;
    return ({ drainMs }) => ({
      figures: [
        atMost('drained after the restart', drainMs / 1_000, 60, 's'),
        atMost('every process back by itself', backS, 60, 's'),
      ],
    });
  },
};
