import {
  blockNumbersOf,
  type HeldRole,
  refOf,
  type StalledChain,
  type Watch,
  type WatchEvent,
  type WatchMember,
  watchOfUid,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import { aboutWatchEventId } from '#shared/contracts/watches/watch-event.ts';
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

export type HeldFigures = Omit<HeldRole, 'heldAt'>;

type AboutWatch =
  | { readonly type: 'watch.held'; readonly roles: readonly HeldFigures[] }
  | {
      readonly type: 'watch.stalled' | 'watch.recovered';
      readonly chains: readonly Pick<StalledChain, 'chainId' | 'since'>[];
    };

/** Writes an event about the watch itself; `name` tells it from others of its type. */
export const composeAboutWatch = (
  watch: Watch,
  { type, ...body }: AboutWatch,
  name: string,
  at: string,
): WatchEvent => ({
  id: aboutWatchEventId(type, `${watchUid(watch)}/${name}`),
  json: JSON.stringify({ type, watchId: watch.watchId, ...body }),
  at,
});
