import type { BatchEntry, MemberChanges, Watch, WatchBody, WatchMember } from './api-types.ts';
import { type Documents, makeDocuments, segmentOf } from './documents.ts';
import { readPages } from './http/pages.ts';
import { type CallOptions, parseAnswer, type Transport } from './http/transport.ts';

const WATCHES_PATH = '/access-control/watches';
/** Most entries of one request; longer lists are sent in several. */
const CHANGES_MAX = 10_000;
/** The gateway takes larger bodies as NDJSON only. */
const JSON_CHARS_MAX = 2_000_000;

export type Watches = Documents<WatchBody, Watch> & {
  readonly pause: (id: string, options?: CallOptions) => Promise<Watch>;
  readonly resume: (id: string, options?: CallOptions) => Promise<Watch>;
  /** Starts a sweep over all members, after a running one. */
  readonly check: (id: string, options?: CallOptions) => Promise<Watch>;
  /** Sends the revocations that are held back. */
  readonly release: (id: string, options?: CallOptions) => Promise<Watch>;
  /** Adds members, or gives known ones other wallets. Every 10 000 are one request: an error leaves
   * earlier ones added. */
  readonly addMembers: (
    id: string,
    entries: readonly BatchEntry[],
    options?: CallOptions,
  ) => Promise<MemberChanges>;
  /** Removes members by their `ref`, or by their account if they have none. */
  readonly removeMembers: (
    id: string,
    members: readonly string[],
    options?: CallOptions,
  ) => Promise<MemberChanges>;
  /** All members, ordered by ref or account. */
  readonly members: (id: string, options?: CallOptions) => AsyncGenerator<WatchMember, void>;
};

export function makeWatches(transport: Transport): Watches {
  const pathOf = (id: string) => `${WATCHES_PATH}/${segmentOf(id)}`;
  const command =
    (name: 'pause' | 'resume' | 'check' | 'release') =>
    async (id: string, options: CallOptions = {}): Promise<Watch> => {
      // Each of the others begins something: a second sweep, or the release of what has been held
      // since.
      const isRepeatable = name === 'pause';
      const path = `${pathOf(id)}/${name}`;
      return parseAnswer(
        await transport.send({ method: 'POST', path, isRepeatable, ...options }),
      ) as unknown as Watch;
    };
  const change =
    (name: 'add' | 'remove') =>
    async (id: string, entries: readonly unknown[], options: CallOptions = {}): Promise<MemberChanges> => {
      const total = { added: 0, replaced: 0, removed: 0, members: 0 };
      for (let from = 0; from === 0 || from < entries.length; from += CHANGES_MAX) {
        const some = entries.slice(from, from + CHANGES_MAX);
        const isLarge = JSON.stringify(some).length > JSON_CHARS_MAX;
        const content = isLarge
          ? { lines: some.map((one) => ({ [name]: one })) }
          : { body: { [name]: some } };
        const path = `${pathOf(id)}/members`;
        const answer = await transport.send({ method: 'POST', path, ...content, ...options });
        const { added, replaced, removed, members } = parseAnswer(answer) as unknown as MemberChanges;
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
    check: command('check'),
    release: command('release'),
    addMembers: change('add'),
    removeMembers: change('remove'),
    members: (id, options = {}) =>
      readPages<WatchMember>(transport, `${pathOf(id)}/members`, 'members', options),
  };
}
