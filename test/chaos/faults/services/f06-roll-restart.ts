import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';

const SERVICES = ['gateway', 'evaluator', 'result-store', 'webhook-dispatcher', 'developer-portal'] as const;

/** Restarts every process of ours, one after the other; broker and store have one instance each,
 * away meanwhile. */
export const f06RollRestart: Fault = {
  id: 'F6',
  title: 'SIGTERM rolling restart of every process of ours',
  async run({ system, ledger, seconds, rest }) {
    const stops: number[] = [];
    const began = performance.now();
    for (const service of SERVICES)
      for (const { pid } of system.running(service)) {
        const toldAt = performance.now();
        process.kill(pid, 'SIGTERM');
        await waitUntil(`${service} to end`, () => !system.running().some((p) => p.pid === pid));
        stops.push(performance.now() - toldAt);
        await system.waitUntilReady();
      }
    await rest(Math.max(0, seconds * 1_000 - (performance.now() - began)));
    return ({ counts, evaluatedAgain }) => {
      const failed = ledger.attempts.filter(({ status = 0 }) => status >= 500);
      const cut = ledger.attempts.filter(({ status }) => status === undefined);
      return {
        figures: [
          atMost('slowest stop', Math.max(...stops) / 1_000, 20, 's'),
          // Clients see no difference: the first result stays.
          atMost('evaluated again', evaluatedAgain, 0),
        ],
        broken: [
          ...(failed.length > 0 ? [`${failed.length} × ${failed[0]?.status}`] : []),
          ...(cut.length > 0 ? [`${cut.length} connections cut`] : []),
          ...(counts.duplicates > 0 ? [`${counts.duplicates} delivered again`] : []),
        ],
      };
    };
  },
};
