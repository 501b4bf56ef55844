import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import { repeatFor } from '../../repeat.ts';

export const f04KillDispatcher: Fault = {
  id: 'F4',
  title: "kill -9 dispatcher between the receiver's 200 and our commit",
  async run({ system, seconds, receiver }) {
    let isArmed = false;
    receiver.setAnswer(() => {
      // The commit comes up to 200 ms after the answer: this is well before it.
      if (isArmed) setImmediate(() => void system.signal('webhook-dispatcher', 'SIGKILL'));
      isArmed = false;
      return 204;
    });
    await repeatFor(seconds, 7, () => {
      isArmed = true;
    });
    return ({ counts, deliveries }) => ({
      figures: [atMost('delivered again', (100 * counts.duplicates) / deliveries.length, 2, '%')],
    });
  },
};
