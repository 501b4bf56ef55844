import type { Judge } from './breaker.ts';

const OUTCOMES_MIN = 10;
const FAILURE_SHARE_MIN = 0.7;
/** The window slides in steps of a sixth. */
const STEP_COUNT = 6;

type Step = { readonly at: number; outcomes: number; failures: number };

/** Whether a call failed; `undefined`: it did not reach the other side. */
export type Failed = boolean | undefined;

/**
 * Opens at ten outcomes within a window of which 70 % are failures.
 *
 * @example
 * const judge = shareOfWindow(60_000, () => performance.now());
 * judge.opens(true); // false: the first of ten
 */
export function shareOfWindow(windowMs: number, monotonicMs: () => number): Judge<Failed> {
  const stepMs = windowMs / STEP_COUNT;
  let steps: Step[] = [];
  return {
    opens(failed) {
      if (failed === undefined) return false;
      const at = Math.floor(monotonicMs() / stepMs);
      steps = steps.filter((step) => step.at > at - STEP_COUNT);
      const last = steps.at(-1);
      const step = last?.at === at ? last : { at, outcomes: 0, failures: 0 };
      if (step !== last) steps.push(step);
      step.outcomes += 1;
      if (failed) step.failures += 1;
      const outcomes = steps.reduce((sum, each) => sum + each.outcomes, 0);
      const failures = steps.reduce((sum, each) => sum + each.failures, 0);
      return outcomes >= OUTCOMES_MIN && failures >= FAILURE_SHARE_MIN * outcomes;
    },
    probed(failed) {
      if (failed === undefined) return undefined;
      steps = [];
      return failed ? 'failing' : 'recovered';
    },
  };
}
