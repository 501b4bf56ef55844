import { createHash } from 'node:crypto';
import { HOUR_MS } from '../durations.ts';
import { uidOfMember, type WatchMember } from './watch.ts';

/** How long the body of an event is kept, so that it can be shown and sent again. */
export const WATCH_EVENT_KEPT_MS = 72 * HOUR_MS;

const PREFIX = 'watch_';
const HASH_CHARS = 32;

/** The id of an event of a watch. `text` holds the fields that make the event unique. */
export const watchEventId = (text: string): string =>
  PREFIX + createHash('sha256').update(text).digest('base64url').slice(0, HASH_CHARS);

/**
 * The id of a member's event: the same however often the event is made, and of no other event. So
 * every event of a member can be found from the member alone.
 *
 * @param sequence from 1 to `member.sequence`
 * @example
 * memberEventId(member, member.sequence); // 'watch_…', the newest one
 */
export const memberEventId = (member: WatchMember, sequence: number): string =>
  watchEventId(`${uidOfMember(member)}/${member.memberId}/${member.addedAt}/${sequence}`);

/** Whether the id of a delivery is that of an event of a watch. */
export const isWatchEventId = (requestId: string): boolean => requestId.startsWith(PREFIX);
