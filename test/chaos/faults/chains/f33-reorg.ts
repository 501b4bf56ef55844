import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import { watchMembers } from '../../load/watched-members.ts';

const MEMBERS = 50;
const DEPTH = 5;
const REORGS = 5;
const MOVES = 10;
const BLOCK_SECONDS = 1;

export const f33Reorg: Fault = {
  id: 'F33',
  title: `reorgs of depth ${DEPTH} that drop transfers of watched members`,
  async run({ system, random, scope }) {
    const watched = await watchMembers(system, scope, { count: MEMBERS });
    for (let i = 0; i < MEMBERS; i++) await watched.move(random);
    await watched.watch();
    await watched.untilRight();
    const times: number[] = [];
    for (let i = 0; i < REORGS; i++) {
      await watched.reorg(DEPTH, async () => {
        for (let move = 0; move < MOVES; move++) await watched.move(random);
        // The dropped transfers had already caused events.
        await watched.untilRight();
      });
      times.push(await watched.untilRight());
    }
    return async () => ({
      figures: [atMost('new fork to correct last events', Math.max(...times), 3 * BLOCK_SECONDS, 's')],
      broken: await watched.judge(),
    });
  },
};
