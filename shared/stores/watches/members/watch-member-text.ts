import type { Wallets } from '#shared/contracts/checks/check-requested.ts';
import type { RuleFault } from '#shared/contracts/checks/result.ts';
import {
  accountsOf,
  type HeldBack,
  type MemberRole,
  type WatchMember,
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
type Rare = Partial<Pick<WatchMember, (typeof RARE)[number]> & Omit<Wallets, 'account'>> & {
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
  checkedAt: number | null,
  /** Id, state and since. */
  roles: (string | number)[],
  /** Chain id, number, and when its head was requested. */
  seen: number[],
  /** Null where these wallets were never checked, as is `checkedAt`. */
  rules: string | null,
  rare?: Rare,
];

/**
 * A member as the view stores it: without the ids, which its key holds, without the names of the
 * usual fields, and without values that follow from other values.
 */
export function textOf(member: WatchMember): string {
  const { memberId, version, wallets, addedAt, walletsAt, sequence, checked } = member;
  const addedAtMs = msOf(addedAt);
  const since = (at: string): number => msOf(at) - addedAtMs;
  const packed: Packed = [
    wallets.account === memberId ? '' : wallets.account,
    addedAtMs,
    since(walletsAt),
    sequence,
    checked === undefined ? null : since(checked.at),
    member.roles.flatMap((role) => [role.id, stateOf(role), since(role.since)]),
    Object.entries(checked?.seen ?? {}).flatMap(([id, at]) => [Number(id), at.block, at.askedAt - addedAtMs]),
    checked?.rules ?? null,
  ];
  const rare = rareOf(member);
  if (rare !== undefined) packed.push(rare);
  return `${version} ${JSON.stringify(packed)}`;
}

export function parseStored(watchUid: string, memberId: string, text: string): WatchMember {
  const space = text.indexOf(' ');
  const version = Number(text.slice(0, space));
  // Written by this file alone, from a message that was parsed.
  const packed = JSON.parse(text.slice(space + 1)) as Packed;
  const [account, addedAtMs, walletsAt, sequence, checkedAt, flat, seen, rules, rare = {}] = packed;
  const { heldBack, errors = [], accounts, vaults, ...others } = rare;
  const backs = heldBack?.values();
  const roles: MemberRole[] = [];
  for (let i = 0; i < flat.length; i += 3)
    roles.push(roleOf(String(flat[i]), Number(flat[i + 1]), isoOf(addedAtMs + Number(flat[i + 2])), backs));
  const wallets: Wallets = { account: account === '' ? memberId : account };
  if (accounts !== undefined) wallets.accounts = accounts;
  if (vaults !== undefined) wallets.vaults = vaults;
  const member: WatchMember = {
    watchUid,
    memberId,
    version,
    wallets,
    addedAt: isoOf(addedAtMs),
    walletsAt: isoOf(addedAtMs + walletsAt),
    sequence,
    roles,
    ...others,
  };
  if (checkedAt === null || rules === null) return member;
  member.checked = { at: isoOf(addedAtMs + checkedAt), rules, seen: {}, errors };
  for (let i = 0; i < seen.length; i += 3)
    member.checked.seen[String(seen[i])] = {
      block: seen[i + 1] ?? 0,
      askedAt: addedAtMs + (seen[i + 2] ?? 0),
    };
  return member;
}

const RARE = ['removedAt', 'owed', 'event'] as const satisfies readonly (keyof WatchMember)[];

/** The fields that this member has and few others; undefined if it has none. */
function rareOf(member: WatchMember): Rare | undefined {
  const {
    wallets: { account: _, ...wallets },
    checked,
  } = member;
  const errors = checked?.errors ?? [];
  const heldBack = member.roles.flatMap((role) => role.heldBack ?? []);
  const found: [string, unknown][] = Object.entries(wallets);
  if (errors.length > 0) found.push(['errors', errors]);
  if (heldBack.length > 0) found.push(['heldBack', heldBack]);
  for (const name of RARE) if (member[name] !== undefined) found.push([name, member[name]]);
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** The event in a stored text. */
export const textOfEvent = (event: string): string => `"event":${JSON.stringify(event)}`;
/** Whether the stored text is that of a removed member: a quotation mark in a string is escaped. */
export const LUA_IS_REMOVED = `string.find(stored, '"removedAt":', 1, true)`;
/** As above: whether a revocation is held back from the member of the text. */
export const hasHeldBack = (text: string): boolean => text.includes('"heldBack":');

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
    : [...accountsOf(member), ...(member.wallets.vaults ?? []).map((vault) => vault.toLowerCase())];

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
