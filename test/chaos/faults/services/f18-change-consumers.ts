import type { Fault } from '../../fault.ts';
import { atLeast, atMost, begunIn, resultTimes } from '../../judges/measure.ts';
import { repeatFor } from '../../repeat.ts';

const MINUTES = 3;
const EVERY_S = 5;

export const f18ChangeConsumers: Fault = {
  id: 'F18',
  title: 'consumers added and removed (SIGTERM) every 5 s for 3 min',
  async run({ system, random, seconds, ledger }) {
    const fromMs = Date.now();
    // A run with a shorter `--seconds` is shorter.
    await repeatFor(seconds < 30 ? seconds : MINUTES * 60, EVERY_S, (round) => {
      if (round % 2 === 1) return system.gates.release('evaluator');
      system.gates.hold('evaluator');
      return system.signal('evaluator', 'SIGTERM', random.below(3));
    });
    system.gates.release('evaluator');
    const begun = begunIn(ledger.attempts, { fromMs, toMs: Date.now() });
    const inTime = resultTimes(begun).length / begun.filter(({ mode }) => mode !== 'webhook').length;
    return ({ evaluatedAgain, evaluatedOnce }) => ({
      figures: [
        atMost('evaluated again', (100 * evaluatedAgain) / evaluatedOnce, 5, '%'),
        atLeast('throughput', 100 * inTime, 50, '%'),
      ],
    });
  },
};
