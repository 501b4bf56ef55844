import Sequencer from '@jest/test-sequencer';

const FIRST = ['e2e', 'integration', 'unit'];

/** The longest suites first, so that in the end no worker waits for another: short ones fill what is left. */
export default class E2eFirst extends Sequencer {
  sort(tests) {
    const place = ({ context }) => FIRST.indexOf(context.config.displayName?.name);
    return [...super.sort(tests)].sort((a, b) => place(a) - place(b));
  }
}
