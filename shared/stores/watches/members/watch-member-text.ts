import type { RuleFault } from '#shared/contracts/checks/result.ts';
import {
  type HeldBack,
  type MemberRole,
  type WatchMember,
  watchOfUid,
} from '#shared/contracts/watches/watch.ts';

export type MemberName = { readonly uid: string; readonly memberId: string };

export const textOfName = ({ uid, memberId }: MemberName): string => `${uid}/${memberId}`;

/** A uid has two slashes, and the member id begins behind the third. */
export function nameOf(text: string): MemberName {
  const [clientId, watchId, createdAt, ...rest] = text.split('/');
  return { uid: `${clientId}/${watchId}/${createdAt}`, memberId: rest.join('/') };
}

/** Of a role: denied, granted, granted and a revocation is held back. */
const [DENIED, GRANTED, HELD_BACK] = [0, 1, 2];

/** Fields that few members have, under their own names. */
type Rare = Partial<Pick<WatchMember, (typeof RARE)[number]>> & {
  /** As the document has it, where it is not derived from the member id. */
  readonly ref?: string | null;
  readonly errors?: RuleFault[];
  /** In the order of their roles. */
  readonly heldBack?: HeldBack[];
};

/** Times in ms: `addedAt` since 1970, all others since `addedAt`. */
type Packed = [
  /** Empty: the member id. */
  account: string,
  addedAt: number,
  walletsAt: number,
  sequence: number,
  /** Null: never. */
  checkedAt: number | null,
  /** Id, state and since. */
  roles: (string | number)[],
  /** Chain id, number, and when its head was requested. */
  seen: number[],
  /** The stamp; null: it has none. */
  rules: string | null,
  stampWalletsAt: number,
  rare?: Rare,
];

/**
 * A member as the view stores it: without the ids, which its key holds, without the names of the
 * usual fields, and without values that follow from other values.
 */
export function textOf(member: WatchMember): string {
  const { memberId, version, account, addedAt, walletsAt, sequence, checkedAt, stamp, seen } = member;
  const addedAtMs = msOf(addedAt);
  const since = (at: string): number => msOf(at) - addedAtMs;
  const packed: Packed = [
    account === memberId ? '' : account,
    addedAtMs,
    since(walletsAt),
    sequence,
    checkedAt === undefined ? null : since(checkedAt),
    member.roles.flatMap((role) => [role.id, stateOf(role), since(role.since)]),
    Object.entries(seen).flatMap(([id, { block, askedAt }]) => [Number(id), block, askedAt - addedAtMs]),
    stamp?.rules ?? null,
    stamp === undefined ? 0 : since(stamp.walletsAt),
  ];
  const rare = rareOf(member);
  if (rare !== undefined) packed.push(rare);
  return `${version} ${JSON.stringify(packed)}`;
}

export function parseStored(uid: string, memberId: string, text: string): WatchMember {
  const space = text.indexOf(' ');
  const version = Number(text.slice(0, space));
  // Written by this file alone, from a message that was parsed.
  return unpack(uid, memberId, version, JSON.parse(text.slice(space + 1)) as Packed);
}

/** A document while it is put together. */
type Draft = { -readonly [K in keyof WatchMember]: WatchMember[K] };

function unpack(uid: string, memberId: string, version: number, packed: Packed): WatchMember {
  const [account, addedAtMs, walletsAt, sequence, checkedAt, flat, seen, rules, stampWalletsAt, rare] =
    packed;
  const heldBack = rare?.heldBack?.values();
  const roles: MemberRole[] = [];
  for (let i = 0; i < flat.length; i += 3)
    roles.push(
      roleOf(String(flat[i]), Number(flat[i + 1]), isoOf(addedAtMs + Number(flat[i + 2])), heldBack),
    );
  const member: Draft = {
    ...idsOf(uid),
    memberId,
    version,
    account: account === '' ? memberId : account,
    addedAt: isoOf(addedAtMs),
    walletsAt: isoOf(addedAtMs + walletsAt),
    sequence,
    roles,
    seen: {},
    errors: [],
  };
  const ref = refOf(memberId);
  if (ref !== null) member.ref = ref;
  if (checkedAt !== null) member.checkedAt = isoOf(addedAtMs + checkedAt);
  if (rules !== null) member.stamp = { rules, walletsAt: isoOf(addedAtMs + stampWalletsAt) };
  for (let i = 0; i < seen.length; i += 3)
    member.seen[String(seen[i])] = { block: seen[i + 1] ?? 0, askedAt: addedAtMs + (seen[i + 2] ?? 0) };
  if (rare === undefined) return member;
  const { ref: own = ref, heldBack: _, ...others } = rare;
  Object.assign(member, others);
  if (own === null) delete member.ref;
  else member.ref = own;
  return member;
}

const idsOf = (uid: string) => ({
  ...watchOfUid(uid),
  watchCreatedAt: isoOf(Number(uid.slice(uid.lastIndexOf('/') + 1))),
});

const RARE = [
  'accounts',
  'vaults',
  'removedAt',
  'owed',
  'event',
] as const satisfies readonly (keyof WatchMember)[];

/** The fields that this member has and few others; undefined if it has none. */
function rareOf(member: WatchMember): Rare | undefined {
  const { memberId, ref = null, errors } = member;
  const found: [string, unknown][] = [];
  if (ref !== refOf(memberId)) found.push(['ref', ref]);
  if (errors.length > 0) found.push(['errors', errors]);
  const heldBack = member.roles.flatMap((role) => role.heldBack ?? []);
  if (heldBack.length > 0) found.push(['heldBack', heldBack]);
  for (const name of RARE) if (member[name] !== undefined) found.push([name, member[name]]);
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** The `ref` of a member with this id: one without a `ref` has its account for an id. */
const refOf = (memberId: string): string | null => (/^0x[0-9a-f]{40}$/.test(memberId) ? null : memberId);

const stateOf = ({ granted, heldBack }: MemberRole): number =>
  heldBack === undefined ? (granted ? GRANTED : DENIED) : HELD_BACK;

function roleOf(
  id: string,
  state: number,
  since: string,
  heldBack: Iterator<HeldBack> | undefined,
): MemberRole {
  if (state !== HELD_BACK) return { id, granted: state === GRANTED, since };
  return { id, granted: true, since, heldBack: heldBack?.next().value };
}

export const walletsOf = (member: WatchMember | undefined): string[] =>
  member === undefined || member.removedAt !== undefined
    ? []
    : [...(member.accounts ?? [member.account]), ...(member.vaults ?? [])].map((wallet) =>
        wallet.toLowerCase(),
      );

/** Members that were checked together have the same times: this many times are remembered. */
const REMEMBERED_MAX = 4_096;

const isoByMs = new Map<number, string>();
const msByIso = new Map<string, number>();

/** As `new Date(ms).toISOString()`, in a tenth of the time where many have the same. */
function isoOf(ms: number): string {
  const known = isoByMs.get(ms);
  if (known !== undefined) return known;
  if (isoByMs.size === REMEMBERED_MAX) isoByMs.clear();
  const iso = new Date(ms).toISOString();
  isoByMs.set(ms, iso);
  return iso;
}

/** As `Date.parse`, in a tenth of the time where many have the same. */
function msOf(iso: string): number {
  const known = msByIso.get(iso);
  if (known !== undefined) return known;
  if (msByIso.size === REMEMBERED_MAX) msByIso.clear();
  const ms = Date.parse(iso);
  msByIso.set(iso, ms);
  return ms;
}
