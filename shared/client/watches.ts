import { WATCHES_PATH } from '../contracts/paths.ts';
import type { BatchEntry, MemberChanges, Watch, WatchBody, WatchMember } from './api-types.ts';
import { makeDocuments, segmentOf } from './documents.ts';
import { readPages } from './http/pages.ts';
import type { CallOptions, Transport } from './http/transport.ts';

/** Most entries of one request; longer lists are sent in several. */
const CHANGES_MAX = 10_000;
/** The gateway takes larger bodies as NDJSON only. */
const JSON_CHARS_MAX = 2_000_000;

export type Watches = ReturnType<typeof makeWatches>;

export function makeWatches(transport: Transport) {
  const pathOf = (id: string) => `${WATCHES_PATH}/${segmentOf(id)}`;
  const command =
    (name: 'pause' | 'resume' | 'check' | 'release') =>
    async (id: string, options: CallOptions = {}): Promise<Watch> => {
      // Each of the others begins something: a second sweep, or the release of what has been held
      // since.
      const isRepeatable = name === 'pause';
      const path = `${pathOf(id)}/${name}`;
      return transport.ask({ method: 'POST', path, isRepeatable, ...options });
    };
  const change =
    <Entry>(name: 'add' | 'remove') =>
    async (id: string, entries: readonly Entry[], options: CallOptions = {}): Promise<MemberChanges> => {
      const total = { added: 0, replaced: 0, removed: 0, members: 0 };
      for (let from = 0; from === 0 || from < entries.length; from += CHANGES_MAX) {
        const some = entries.slice(from, from + CHANGES_MAX);
        const isLarge = JSON.stringify(some).length > JSON_CHARS_MAX;
        const content = isLarge
          ? { lines: some.map((one) => ({ [name]: one })) }
          : { body: { [name]: some } };
        const path = `${pathOf(id)}/members`;
        const request = { method: 'POST', path, ...content, ...options } as const;
        const { added, replaced, removed, members } = await transport.ask<MemberChanges>(request);
        total.added += added;
        total.replaced += replaced;
        total.removed += removed;
        total.members = members;
      }
      return total;
    };
  return {
    ...makeDocuments<WatchBody, Watch>(transport, WATCHES_PATH, 'watches'),
    pause: command('pause'),
    resume: command('resume'),
    /** Starts a sweep over all members, after a running one. */
    check: command('check'),
    /** Sends the revocations that are held back. */
    release: command('release'),
    /** Adds members, or gives known ones other wallets. Every 10 000 are one request: an error
     * leaves earlier ones added. */
    addMembers: change<BatchEntry>('add'),
    /** Removes members by their `ref`, or by their account if they have none. */
    removeMembers: change<string>('remove'),
    /** All members, ordered by ref or account. */
    members: (id: string, options: CallOptions = {}): AsyncGenerator<WatchMember, void> =>
      readPages(transport, `${pathOf(id)}/members`, 'members', options),
  };
}
