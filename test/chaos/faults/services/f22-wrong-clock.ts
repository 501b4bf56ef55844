import { fileURLToPath } from 'node:url';
import type { Fault } from '../../fault.ts';
import type { Preload } from '../../system/chaos-system.ts';
import { metricsOf, sumOf } from '../../system/process-facts.ts';

const OFFSET_S = 60;
const shift = (process: string, seconds: number): Preload => ({
  file: fileURLToPath(new URL('../../preload/shift-clock.ts', import.meta.url)),
  into: [process],
  env: { CHAOS_CLOCK_OFFSET_MS: String(seconds * 1_000) },
});

/** Shifts one process of each service but the dispatcher at once: harder than one alone. */
export const f22WrongClock: Fault = {
  id: 'F22',
  title: "one process's clock ± 60 s",
  needs: {
    preloads: [
      shift('gateway-1', OFFSET_S),
      shift('evaluator-1', -OFFSET_S),
      shift('result-store', OFFSET_S),
    ],
  },
  async run({ system, rest, seconds }) {
    await rest(seconds * 1_000);
    const shifted = [system.running('evaluator')[0], system.running('result-store')[0]];
    const skews = await Promise.all(
      shifted.map(async (one) =>
        Math.abs(sumOf(one?.ops ? await metricsOf(one.ops) : '', 'rolecall_clock_skew_seconds')),
      ),
    );
    const isSeen = skews.every((skew) => skew > OFFSET_S / 2);
    return () => ({
      figures: [
        {
          what: 'rolecall_clock_skew_seconds',
          measured: skews.map((skew) => skew.toFixed(1)).join(' and '),
          goal: `> ${OFFSET_S / 2}`,
          met: isSeen,
        },
      ],
      broken: isSeen ? [] : ['the metric does not show the wrong clock'],
    });
  },
};
