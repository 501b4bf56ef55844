import { createHash } from 'node:crypto';
import { HOUR_MS } from '../durations.ts';
import type { WatchMember } from './watch.ts';

/** How long the body of an event is kept, so that it can be shown and sent again. */
export const WATCH_EVENT_KEPT_MS = 72 * HOUR_MS;

const PREFIX = 'watch_';
const HASH_CHARS = 32;

/** Events about a watch itself: their ids are longer than those of its members' events. */
const ABOUT_WATCH = ['held', 'stalled', 'recovered'] as const;
type AboutWatch = `watch.${(typeof ABOUT_WATCH)[number]}`;

const hashOf = (text: string): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, HASH_CHARS);

/** The id of an event about a watch itself. `text` holds the fields that make it unique. */
export const aboutWatchEventId = (type: AboutWatch, text: string): string =>
  `${type.replace('.', '_')}_${hashOf(text)}`;

/**
 * The id of a member's event: the same however often the event is made, and of no other event. So
 * every event of a member can be found from the member alone.
 *
 * @param sequence from 1 to `member.sequence`
 * @example
 * memberEventId(member, member.sequence); // 'watch_…', the newest one
 */
export const memberEventId = ({ watchUid, memberId, addedAt }: WatchMember, sequence: number): string =>
  PREFIX + hashOf(`${watchUid}/${memberId}/${addedAt}/${sequence}`);

export const isWatchEventId = (requestId: string): boolean => requestId.startsWith(PREFIX);

export function watchEventType(requestId: string): AboutWatch | 'roles.changed' | undefined {
  if (!isWatchEventId(requestId)) return undefined;
  const about = ABOUT_WATCH.find(
    (name) =>
      requestId.startsWith(`${PREFIX}${name}_`) &&
      requestId.length === PREFIX.length + name.length + 1 + HASH_CHARS,
  );
  return about === undefined ? 'roles.changed' : `watch.${about}`;
}
