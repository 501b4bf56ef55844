import type { Fault } from '../../fault.ts';
import { atMost, resultTimes } from '../../judges/measure.ts';
import { repeatFor } from '../../repeat.ts';

/** The session that `npm start` gives consumers. */
const SESSION_TIMEOUT_MS = 3_000;

export const f02KillEvaluators: Fault = {
  id: 'F2',
  title: 'kill -9 one of three evaluators every 15 s',
  async run({ system, seconds, random, ledger }) {
    await repeatFor(seconds, 15, () => void system.signal('evaluator', 'SIGKILL', random.below(3)));
    return ({ evaluatedAgain, evaluatedOnce }) => ({
      figures: [
        atMost('evaluated again', (100 * evaluatedAgain) / evaluatedOnce, 2, '%'),
        atMost('longest wait', Math.max(...resultTimes(ledger.attempts)), SESSION_TIMEOUT_MS + 5_000, 'ms'),
      ],
    });
  },
};
