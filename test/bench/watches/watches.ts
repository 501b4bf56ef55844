import type { Table } from '../table.ts';
import { benchFollowing } from './follow-blocks.ts';
import { benchMembers } from './sweep-members.ts';

/** The cost of watches. */
export async function benchWatches(): Promise<Table> {
  const members = await benchMembers();
  const following = await benchFollowing();
  return {
    title: 'watches',
    rows: [...members.rows, ...following.rows],
    notes: [...members.notes, ...following.notes],
  };
}
