import { partitionOfMember, type WatchMember } from '#shared/contracts/watches/watch.ts';
import { inStore, LISTING_TIMEOUT_MS, type Redis } from '#shared/redis/connect.ts';
import { PAGE_BYTES_MAX, type ViewAccess } from '#shared/redis/view.ts';
import { makeReadPage } from '#shared/stores/documents/read-page.ts';
import { parseStored } from './watch-member-text.ts';

/** Members of one page. A member with a hundred roles has up to 50 KB, one with 900 up to 1 MB. */
const PAGE_MEMBERS_MAX = 500;
/** Members of the first page of a scan, before their size is known. */
const SCAN_COUNT_FIRST = 32;

/** The members of a partition, by id. */
export const docsKey = (uid: string, partition: number): string => `wm:${uid}:${partition}`;
/** The keys of the members, each once, and for each member the index of its key among them, from 1 on. */
export function placesOf(members: readonly { readonly uid: string; readonly memberId: string }[]): {
  readonly keys: readonly string[];
  readonly places: readonly number[];
} {
  const placeOfKey = new Map<string, number>();
  const places = members.map(({ uid, memberId }) => {
    const key = docsKey(uid, partitionOfMember(uid, memberId));
    const place = placeOfKey.get(key) ?? placeOfKey.size + 1;
    placeOfKey.set(key, place);
    return place;
  });
  return { keys: [...placeOfKey.keys()], places };
}

/** The ids of a watch's members, all with one score, so that Redis sorts them. */
export const idsKey = (uid: string): string => `wm-ids:${uid}`;

type MemberPage = {
  /** The `next` of the page before. */
  readonly after?: string | undefined;
  readonly countMax: number;
};

/**
 * Reads the members of a watch in the order of their ids: `countMax`, or fewer where they are large. `next` is the id of the
 * last one, if there are more.
 */
export type ReadMemberPage = (
  uid: string,
  page: MemberPage,
) => Promise<{ readonly members: readonly WatchMember[]; readonly next: string | undefined }>;

export function makeMemberPages(redis: Redis) {
  const readTexts = makeReadPage(redis);
  const listIds = (uid: string, { after, countMax }: MemberPage): Promise<string[]> =>
    inStore(() =>
      redis.zrangebylex(idsKey(uid), after === undefined ? '-' : `(${after}`, '+', 'LIMIT', 0, countMax),
    );
  /** The first of these members, as many as a page has; undefined for a missing member. */
  const readFirst = async (
    uid: string,
    ids: readonly string[],
    access?: ViewAccess,
  ): Promise<(WatchMember | undefined)[]> => {
    const { keys, places } = placesOf(ids.map((memberId) => ({ uid, memberId })));
    const texts = await readTexts(keys, ids, places, access);
    return texts.map((text, i) => (text === '' ? undefined : parseStored(uid, ids[i] ?? '', text)));
  };
  const read: ReadMemberPage = async (uid, { after, countMax }) => {
    const ids = await listIds(uid, { after, countMax: countMax + 1 });
    const found = await readFirst(uid, ids.slice(0, countMax));
    const members = found.flatMap((member) => member ?? []);
    return { members, next: found.length < ids.length ? ids[found.length - 1] : undefined };
  };
  async function* readInPages(
    uid: string,
    ids: readonly string[],
    access?: ViewAccess,
  ): AsyncGenerator<readonly (WatchMember | undefined)[]> {
    for (let at = 0; at < ids.length; ) {
      const found = await readFirst(uid, ids.slice(at, at + PAGE_MEMBERS_MAX), access);
      yield found;
      at += found.length;
    }
  }
  async function* scan(uid: string, partition: number): AsyncGenerator<WatchMember[]> {
    let [cursor, count] = ['0', SCAN_COUNT_FIRST];
    let members: WatchMember[] = [];
    let bytes = 0;
    do {
      const [next, flat] = await inStore(
        () => redis.hscan(docsKey(uid, partition), cursor, 'COUNT', count),
        LISTING_TIMEOUT_MS,
      );
      cursor = next;
      let pageBytes = 0;
      for (let i = 0; i < flat.length; i += 2) {
        const [memberId = '', text = ''] = [flat[i], flat[i + 1]];
        pageBytes += text.length;
        members.push(parseStored(uid, memberId, text));
      }
      members = members.filter(({ removedAt }) => removedAt === undefined);
      bytes += pageBytes;
      // Parts of a few members would cost as much as whole ones.
      while (members.length >= PAGE_MEMBERS_MAX || bytes >= PAGE_BYTES_MAX) {
        yield members.splice(0, PAGE_MEMBERS_MAX);
        bytes = 0;
      }
      count = nextScanCount(count, flat.length / 2, pageBytes);
    } while (cursor !== '0');
    yield members;
  }
  return { read, readInPages, scan };
}

/** As many as a page of this size would have, and at most four times as many as before: Redis bounds a page by count alone. */
function nextScanCount(count: number, found: number, bytes: number): number {
  const fitting = bytes === 0 ? Infinity : Math.floor((PAGE_BYTES_MAX * found) / bytes);
  return Math.max(1, Math.min(4 * count, fitting, PAGE_MEMBERS_MAX));
}
