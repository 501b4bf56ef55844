import type { StalledChain, Watch, WatchEvent, WatchMember } from '#shared/contracts/watches/watch.ts';
import type { MemberEvent } from './member.ts';

/** An event with its details has at most so many bytes; else they are left out. */
const EVENT_BYTES_MAX = 1_048_576;

/** Writes a member's event: its bytes, once and for all. `id` is made of the fields that make it
 * unique. */
export function composeRolesChanged(
  member: WatchMember,
  { cause, transfer, sequence, changes, details }: MemberEvent,
  id: string,
  at: string,
): WatchEvent {
  const { watchId, account, accounts, ref, addedAt, seen, checkedAt = at } = member;
  const event = {
    type: 'roles.changed',
    watchId,
    ...(accounts === undefined ? { account } : { accounts }),
    ...(ref === undefined ? {} : { ref }),
    addedAt,
    sequence,
    roles: changes,
    cause,
    ...(transfer === undefined ? {} : { transfer }),
    blockNumbers: Object.fromEntries(Object.entries(seen).map(([chainId, { block }]) => [chainId, block])),
    evaluatedAt: checkedAt,
  };
  const json = JSON.stringify(event);
  const explained = explain(json, details);
  return { id, json: Buffer.byteLength(explained) > EVENT_BYTES_MAX ? json : explained, at };
}

/** Adds the details of the roles, which are JSON arrays already, in the order of the rules. */
function explain(json: string, details: MemberEvent['details']): string {
  const rules = [...details.values()].flatMap((text) => JSON.parse(text) as { readonly ruleIndex: number }[]);
  if (rules.length === 0) return json;
  const ordered = rules.toSorted((a, b) => a.ruleIndex - b.ruleIndex);
  return `${json.slice(0, -1)},"details":${JSON.stringify(ordered)}}`;
}

/** Writes the event that a chain cannot be read for a watch, or can be read again. */
export function composeBlindness(
  { watchId }: Watch,
  type: 'watch.stalled' | 'watch.recovered',
  chains: readonly Pick<StalledChain, 'chainId' | 'since'>[],
  id: string,
  at: string,
): WatchEvent {
  const listed = chains.map(({ chainId, since }) => ({ chainId, since }));
  return { id, json: JSON.stringify({ type, watchId, chains: listed }), at };
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
