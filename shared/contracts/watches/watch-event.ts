import { createHash } from 'node:crypto';
import { HOUR_MS } from '../durations.ts';
import { uidOfMember, type WatchMember } from './watch.ts';

/** How long the body of an event is kept, so that it can be shown and sent again. */
export const WATCH_EVENT_KEPT_MS = 72 * HOUR_MS;

const PREFIX = 'watch_';
const HELD_PREFIX = `${PREFIX}held_`;
const HASH_CHARS = 32;

const hashOf = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, HASH_CHARS);

/** The id of the event that tells of held revocations. `text` holds the fields that make it
 * unique. */
export const heldEventId = (text: string): string => HELD_PREFIX + hashOf(text);

/**
 * The id of a member's event: the same however often the event is made, and of no other event. So
 * every event of a member can be found from the member alone.
 *
 * @param sequence from 1 to `member.sequence`
 * @example
 * memberEventId(member, member.sequence); // 'watch_…', the newest one
 */
export const memberEventId = (member: WatchMember, sequence: number): string =>
  PREFIX + hashOf(`${uidOfMember(member)}/${member.memberId}/${member.addedAt}/${sequence}`);

/** Whether the id of a delivery is that of an event of a watch. */
export const isWatchEventId = (requestId: string): boolean => requestId.startsWith(PREFIX);

/** Whether it tells of held revocations: its id is longer than that of a member's event. */
export const isHeldEventId = (requestId: string): boolean =>
  requestId.startsWith(HELD_PREFIX) && requestId.length === HELD_PREFIX.length + HASH_CHARS;
