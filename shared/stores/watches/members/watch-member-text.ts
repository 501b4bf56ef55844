import type { Wallets } from '#shared/contracts/checks/check-requested.ts';
import type { RuleFault } from '#shared/contracts/checks/result.ts';
import {
  accountsOf,
  type HeldBack,
  type MemberRole,
  type WatchMember,
} from '#shared/contracts/watches/watch.ts';

export type MemberName = Pick<WatchMember, 'watchUid' | 'memberId'>;

export const textOfName = ({ watchUid, memberId }: MemberName): string => `${watchUid}/${memberId}`;

/** A uid has two slashes, and the member id begins behind the third. */
export function nameOf(text: string): MemberName {
  const [clientId, watchId, createdAt, ...rest] = text.split('/');
  return { watchUid: `${clientId}/${watchId}/${createdAt}`, memberId: rest.join('/') };
}

export const groupByWatch = (names: readonly MemberName[]): (readonly [uid: string, memberIds: string[]])[] =>
  [...Map.groupBy(names, ({ watchUid }) => watchUid)].map(
    ([uid, ofWatch]) => [uid, ofWatch.map(({ memberId }) => memberId)] as const,
  );

/** Times in ms: `addedAt` since 1970, all others since `addedAt`. */
type Packed = [
  /** Empty: the member id. */
  account: string,
  addedAt: number,
  walletsAt: number,
  sequence: number,
  /** Null where these wallets were never checked, as are the rules. */
  checkedAt: number | null,
  roles: [id: string, state: 0 | 1 | { heldBack: HeldBack }, since: number][],
  seen: [chainId: number, block: number, askedAt: number][],
  rules: string | null,
  /** Fields that few members have, under their own names. */
  rare: Partial<Omit<Wallets, 'account'> & Pick<WatchMember, 'removedAt' | 'owed' | 'event'>> & {
    errors?: RuleFault[] | undefined;
  },
];

/**
 * A member as the view stores it: without the ids, which its key holds, without the names of the
 * usual fields, and without values that follow from other values.
 */
export function textOf(member: WatchMember): string {
  const { memberId, addedAt, walletsAt, sequence, roles, checked, removedAt, owed, event } = member;
  const { account, ...others } = member.wallets;
  const addedAtMs = msOf(addedAt);
  const since = (at: string): number => msOf(at) - addedAtMs;
  const packed: Packed = [
    account === memberId ? '' : account,
    addedAtMs,
    since(walletsAt),
    sequence,
    checked === undefined ? null : since(checked.at),
    roles.map((role) => [role.id, stateOf(role), since(role.since)]),
    Object.entries(checked?.seen ?? {}).map(([id, at]) => [Number(id), at.block, at.askedAt - addedAtMs]),
    checked?.rules ?? null,
    { ...others, errors: checked?.errors.length ? checked.errors : undefined, removedAt, owed, event },
  ];
  return `${member.version} ${JSON.stringify(packed)}`;
}

const stateOf = ({ granted, heldBack }: MemberRole) => (heldBack ? { heldBack } : granted ? 1 : 0);

export function parseStored(watchUid: string, memberId: string, text: string): WatchMember {
  const space = text.indexOf(' ');
  // Written by this file alone, from a message that was parsed.
  const packed = JSON.parse(text.slice(space + 1)) as Packed;
  const [account, addedAtMs, walletsAt, sequence, checkedAt, roles, seen, rules, rare] = packed;
  const { errors = [], accounts, vaults, ...others } = rare;
  const isoAfter = (ms: number): string => isoOf(addedAtMs + ms);
  const member: WatchMember = {
    watchUid,
    memberId,
    version: Number(text.slice(0, space)),
    wallets: {
      account: account === '' ? memberId : account,
      ...(accounts && { accounts }),
      ...(vaults && { vaults }),
    },
    addedAt: isoOf(addedAtMs),
    walletsAt: isoAfter(walletsAt),
    sequence,
    roles: roles.map(([id, state, since]) => ({
      id,
      granted: state !== 0,
      since: isoAfter(since),
      ...(typeof state === 'object' && state),
    })),
    ...others,
  };
  if (checkedAt === null || rules === null) return member;
  const blocks = seen.map(([id, block, askedAt]) => [id, { block, askedAt: addedAtMs + askedAt }] as const);
  return { ...member, checked: { at: isoAfter(checkedAt), rules, seen: Object.fromEntries(blocks), errors } };
}

export const textOfEvent = (event: string): string => `"event":${JSON.stringify(event)}`;
/** Whether the stored text is that of a removed member: a quotation mark in a string is escaped. */
export const LUA_IS_REMOVED = `string.find(stored, '"removedAt":', 1, true)`;
/** As above: whether a revocation is held back from the member of the text. */
export const hasHeldBack = (text: string): boolean => text.includes('"heldBack":');

export const walletsOf = (member: WatchMember | undefined): string[] =>
  member === undefined || member.removedAt !== undefined
    ? []
    : [...accountsOf(member), ...(member.wallets.vaults ?? []).map((vault) => vault.toLowerCase())];

/** Members that were checked together have the same times: this many times are remembered. */
const REMEMBERED_MAX = 4_096;

/** The function with its last results remembered: a tenth of the time where many are asked for the
 * same. */
function remembering<K, V>(make: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>();
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size === REMEMBERED_MAX) known.clear();
    const made = make(key);
    known.set(key, made);
    return made;
  };
}

const isoOf = remembering((ms: number) => new Date(ms).toISOString());
const msOf = remembering((iso: string) => Date.parse(iso));
