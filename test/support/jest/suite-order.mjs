import { readFileSync } from 'node:fs';
import Sequencer from '@jest/test-sequencer';

const nameOf = ({ context }) => context.config.displayName?.name;
const sharesSystem = ({ path }) => readFileSync(path, 'utf8').includes('shared-system-environment');
const kindOf = (test) => (nameOf(test) === 'e2e' && sharesSystem(test) ? 'shared' : nameOf(test));

/** Spreads suites over the first `share` of the order. */
const spread = (tests, share) =>
  tests.map((test, index) => ({ test, place: (share * (index + 1)) / (tests.length + 1) }));

/**
 * Suites that compute, which are those that start a system of their own or share one, run beside
 * integration suites, which wait: about half of the workers have a system at any time. Of each kind
 * the longest come first, and without figures of an earlier run a long one may come last, so no
 * system is left to the end. Unit tests come last, so that in the end no worker waits for another.
 */
export default class SuiteOrder extends Sequencer {
  sort(tests) {
    const { shared = [], e2e = [], integration = [], unit = [] } = Object.groupBy(super.sort(tests), kindOf);
    // For the server of shared parts, which the global set-up starts next.
    process.env.TEST_PARTS = JSON.stringify({ system: shared.length, infrastructure: integration.length });
    const mixed = [...spread(shared, 0.6), ...spread(e2e, 0.6), ...spread(integration, 1)];
    mixed.sort((a, b) => a.place - b.place);
    return [...mixed.map(({ test }) => test), ...unit];
  }
}
