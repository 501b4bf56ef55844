import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import { repeatFor } from '../../repeat.ts';

export const f01KillGateways: Fault = {
  id: 'F1',
  title: 'kill -9 one of two gateways every 10 s',
  async run({ system, seconds, ledger }) {
    await repeatFor(seconds, 10, (round) => system.signal('gateway', 'SIGKILL', round));
    return () => {
      const failed = ledger.attempts.filter(({ status = 0 }) => status >= 500).length;
      return {
        figures: [
          atMost('client errors beyond cut connections', (100 * failed) / ledger.attempts.length, 1, '%'),
        ],
      };
    };
  },
};
