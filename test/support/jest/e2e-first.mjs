import { readFileSync } from 'node:fs';
import Sequencer from '@jest/test-sequencer';

const nameOf = ({ context }) => context.config.displayName?.name;
const sharesSystem = ({ path }) => readFileSync(path, 'utf8').includes('shared-system-environment');
const kindOf = (test) => (nameOf(test) === 'e2e' && sharesSystem(test) ? 'shared' : nameOf(test));

/**
 * Suites that share the system of their worker come first: so it runs for no longer than it is used.
 * Those that start systems of their own, which compute, follow beside integration suites, which
 * wait. Of each kind the longest come first, and unit tests last, so that in the end no worker waits
 * for another.
 */
export default class E2eFirst extends Sequencer {
  sort(tests) {
    const { shared = [], e2e = [], integration = [], unit = [] } = Object.groupBy(super.sort(tests), kindOf);
    // Over the first half, since without figures of an earlier run a long one may come last. The first
    // ones are integration suites, at which the shared system of a worker ends.
    const spread = (tests, share) =>
      tests.map((test, index) => ({ test, place: (share * (index + 1)) / (tests.length + 1) }));
    const mixed = [...spread(e2e, 0.5), ...spread(integration, 1)];
    mixed.sort((a, b) => a.place - b.place);
    return [...shared, ...mixed.map(({ test }) => test), ...unit];
  }
}
