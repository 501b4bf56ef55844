import type { Watch, WatchEvent, WatchMember } from '#shared/contracts/watches/watch.ts';
import type { MemberEvent } from './apply-check.ts';

/** Writes a member's event: its bytes, once and for all. `id` is made of the fields that make it
 * unique. */
export function composeRolesChanged(
  member: WatchMember,
  { cause, sequence, changes }: MemberEvent,
  id: string,
  at: string,
): WatchEvent {
  const { watchId, account, accounts, ref, addedAt, blockNumbers, checkedAt = at } = member;
  const json = JSON.stringify({
    type: 'roles.changed',
    watchId,
    ...(accounts === undefined ? { account } : { accounts }),
    ...(ref === undefined ? {} : { ref }),
    addedAt,
    sequence,
    roles: changes,
    cause,
    blockNumbers,
    evaluatedAt: checkedAt,
  });
  return { id, json, at };
}

/** Writes the event that tells of held revocations. */
export function composeWatchHeld(
  { watchId }: Watch,
  roles: readonly { readonly id: string; readonly holders: number; readonly revocations: number }[],
  id: string,
  at: string,
): WatchEvent {
  const held = roles.map(({ id, holders, revocations }) => ({ id, holders, revocations }));
  return { id, json: JSON.stringify({ type: 'watch.held', watchId, roles: held }), at };
}
