import { p99 } from '../../../support/figures/quantile.ts';
import type { Fault } from '../../fault.ts';
import { atMost, resultTimes } from '../../judges/measure.ts';
import { latenessOf } from '../../judges/webhook-times.ts';

/** The load without a fault: the baseline of the other rows. */
export const f00None: Fault = {
  id: 'F0',
  title: 'none',
  async run({ rest, seconds, ledger, timesDecide }) {
    await rest(seconds * 1_000);
    return ({ deliveries, counts, evaluatedAgain }) => {
      const accepted = ledger.attempts.flatMap(({ status, tookMs }) =>
        status === 202 && tookMs !== undefined ? [tookMs] : [],
      );
      const duplicates = counts.duplicates + evaluatedAgain;
      return {
        figures: [
          atMost('duplicates', duplicates, 0),
          atMost('202 p99', p99(accepted), 50, 'ms'),
          atMost('result p99', p99(resultTimes(ledger.attempts)), 1_000, 'ms'),
          atMost('first webhook after the result, p99', p99(latenessOf(deliveries)), 250, 'ms'),
        ],
        broken: duplicates > 0 && timesDecide ? [`${duplicates} duplicates without a fault`] : [],
      };
    };
  },
};
