import { benchFollowing } from './follow-blocks.ts';
import type { Table } from './row.ts';

/** What watches cost. */
export async function benchWatches(): Promise<Table> {
  const following = await benchFollowing();
  return { title: 'watches', rows: following.rows, notes: following.notes };
}
