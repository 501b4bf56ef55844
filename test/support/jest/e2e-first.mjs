import { readFileSync } from 'node:fs';
import Sequencer from '@jest/test-sequencer';

const FIRST = ['e2e', 'integration', 'unit'];

/**
 * The longest suites first, so that in the end no worker waits for another: short ones fill the
 * remaining time. Suites that share the system of their worker come after those that start systems
 * of their own, and before all others: so it runs for no longer than it is used.
 */
export default class E2eFirst extends Sequencer {
  sort(tests) {
    const place = ({ context, path }) => {
      const project = FIRST.indexOf(context.config.displayName?.name);
      return (
        project +
        (project === 0 && readFileSync(path, 'utf8').includes('shared-system-environment') ? 0.5 : 0)
      );
    };
    return [...super.sort(tests)].sort((a, b) => place(a) - place(b));
  }
}
