import {
  blockNumbersOf,
  type HeldRole,
  refOf,
  type StalledChain,
  type Watch,
  type WatchEvent,
  type WatchMember,
  watchOfUid,
} from '#shared/contracts/watches/watch.ts';
import type { MemberEvent } from './member.ts';

/** An event with its details has at most so many bytes; else they are left out. */
const EVENT_BYTES_MAX = 1_048_576;

/** Writes a member's event: its bytes, once and for all. */
export function composeRolesChanged(
  member: WatchMember,
  { cause, transfer, sequence, changes, details }: MemberEvent,
  at: string,
): string {
  const { wallets, addedAt, checked } = member;
  const { account, accounts } = wallets;
  const event = {
    type: 'roles.changed',
    watchId: watchOfUid(member.watchUid).watchId,
    ...(accounts === undefined ? { account } : { accounts }),
    // Left out where there is none, as is the transfer.
    ref: refOf(member),
    addedAt,
    sequence,
    roles: changes,
    cause,
    transfer,
    blockNumbers: blockNumbersOf(member),
    evaluatedAt: checked?.at ?? at,
  };
  const json = JSON.stringify(event);
  const explained = explain(json, details);
  return Buffer.byteLength(explained) > EVENT_BYTES_MAX ? json : explained;
}

/** Adds the details of the roles, which are JSON arrays already, in the order of the rules. */
function explain(json: string, details: MemberEvent['details']): string {
  const rules = [...details.values()].flatMap((text) => JSON.parse(text) as { readonly ruleIndex: number }[]);
  if (rules.length === 0) return json;
  const ordered = rules.toSorted((a, b) => a.ruleIndex - b.ruleIndex);
  return `${json.slice(0, -1)},"details":${JSON.stringify(ordered)}}`;
}

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

/** A role whose revocations are held. */
export type HeldFigures = Omit<HeldRole, 'heldAt'>;

export function composeWatchHeld(
  { watchId }: Watch,
  roles: readonly HeldFigures[],
  id: string,
  at: string,
): WatchEvent {
  const held = roles.map(({ id, holders, revocations }) => ({ id, holders, revocations }));
  return { id, json: JSON.stringify({ type: 'watch.held', watchId, roles: held }), at };
}
