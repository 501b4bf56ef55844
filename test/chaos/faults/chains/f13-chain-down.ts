import type { Fault } from '../../fault.ts';
import { atMost, begunIn, resultTimes } from '../../judges/measure.ts';

const DOWN_MS = 60_000;
/** EVALUATION_DEADLINE_MS by default. */
const EVALUATION_MS_MAX = 30_000;

export const f13ChainDown: Fault = {
  id: 'F13',
  title: 'all RPC endpoints of a chain down 60 s',
  signsIn: true,
  async run({ system, ledger, seconds, rest, load }) {
    const { main } = system.chains;
    for (const proxy of main) await proxy.setFault('refuse');
    const down = await rest(Math.max(DOWN_MS, seconds * 1_000));
    for (const proxy of main) await proxy.setFault('none');
    await rest(seconds * 250);
    await load.stop();
    return ({ drainMs, counts }) => ({
      figures: [
        atMost('backlog drained', drainMs / 1_000, 30, 's'),
        atMost(
          'a check ends',
          Math.max(...resultTimes(begunIn(ledger.attempts, down))) / 1_000,
          EVALUATION_MS_MAX / 1_000 + 1,
          's',
        ),
      ],
      broken: counts.undetermined === 0 ? ['no check met the fault'] : [],
    });
  },
};
