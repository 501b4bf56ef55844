import type { BatchEntry } from '#shared/contracts/batches/batch.ts';
import { type Fault, pointerOf, unknownMember } from '#shared/contracts/fault.ts';
import { faultOfAddress, faultOfRef } from '#shared/rules/body-texts.ts';
import { asSentence } from '#shared/rules/validate-body.ts';
import { ACCOUNTS_MAX, VAULTS_MAX } from '../checks/check-body.ts';

const MEMBERS: ReadonlySet<string> = new Set(['account', 'accounts', 'vaults', 'ref']);

type ValidatedEntry =
  | { readonly ok: true; readonly entry: BatchEntry }
  | { readonly ok: false; readonly faults: readonly Fault[] };

type Members = Readonly<Record<string, unknown>>;
type Path = readonly PropertyKey[];

/**
 * Validates one entry of a batch: an address, or an object with wallets and the caller's own id.
 * Written out by hand: a batch has up to 100 000 of them, and a schema takes ten times as long.
 *
 * @param path the path of the entry in the body
 * @example
 * validateEntry('0x52908400098527886e0f7030069857d2e4169ee7', ['entries', 17]);
 */
export function validateEntry(value: unknown, path: Path): ValidatedEntry {
  if (typeof value === 'string') {
    const faults = faultsOfAddress(value, path);
    return faults.length === 0 ? { ok: true, entry: { account: value } } : { ok: false, faults };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return {
      ok: false,
      faults: [faultAt(path, 'wrong-type', 'must be an address as a string, or an object with account')],
    };
  const members = value as Members;
  const faults = [
    ...Object.keys(members)
      .filter((name) => !MEMBERS.has(name))
      .map((name) => asSentence(unknownMember(pointerOf([...path, name]), MEMBERS))),
    ...faultsOfAccounts(members, path),
    ...('vaults' in members ? faultsOfWallets(members['vaults'], [...path, 'vaults'], VAULTS) : []),
    ...('ref' in members ? faultsOfRef(members['ref'], [...path, 'ref']) : []),
  ];
  return faults.length === 0 ? { ok: true, entry: entryOf(members as SoundEntry) } : { ok: false, faults };
}

/** An entry without faults, as the client sent it. */
type SoundEntry = {
  readonly account?: string;
  readonly accounts?: string[];
  readonly vaults?: string[];
  readonly ref?: string;
};

const entryOf = ({ account, accounts, vaults, ref }: SoundEntry): BatchEntry => ({
  account: account ?? accounts?.[0] ?? '',
  ...(accounts ? { accounts } : {}),
  ...(vaults && vaults.length > 0 ? { vaults } : {}),
  ...(ref === undefined ? {} : { ref }),
});

/**
 * Text that is equal for two entries with equal validated values.
 *
 * @example
 * canonicalEntry({ account: '0xAB…' }) === canonicalEntry({ account: '0xab…' }); // true
 */
export const canonicalEntry = ({ account, accounts, vaults, ref }: BatchEntry): string =>
  JSON.stringify([
    (accounts?.join() ?? account).toLowerCase(),
    accounts !== undefined,
    vaults?.join().toLowerCase() ?? null,
    ref ?? null,
  ]);

const faultAt = (path: Path, code: string, predicate: string): Fault => {
  const pointer = pointerOf(path);
  return { pointer, code, detail: `${pointer} ${predicate}.` };
};

function faultsOfAddress(value: unknown, path: Path): Fault[] {
  if (typeof value !== 'string') return [faultAt(path, 'wrong-type', 'must be an address as a string')];
  const fault = faultOfAddress(value);
  return fault ? [faultAt(path, fault[0], fault[1])] : [];
}

/** Exactly one of `account` and `accounts`. */
function faultsOfAccounts(members: Members, path: Path): Fault[] {
  const [hasOne, hasMany] = ['account' in members, 'accounts' in members];
  if (!hasOne && !hasMany)
    return [faultAt([...path, 'account'], 'required', 'is required unless accounts is sent')];
  const both = 'is not allowed beside account; send one of the two';
  return [
    ...(hasOne && hasMany ? [faultAt([...path, 'accounts'], 'not-allowed', both)] : []),
    ...(hasOne ? faultsOfAddress(members['account'], [...path, 'account']) : []),
    ...(hasMany ? faultsOfWallets(members['accounts'], [...path, 'accounts'], ACCOUNTS) : []),
  ];
}

type ListBounds = { readonly countMin: number; readonly countMax: number; readonly isDistinct: boolean };

const ACCOUNTS: ListBounds = { countMin: 1, countMax: ACCOUNTS_MAX, isDistinct: true };
/** A repeated vault counts once. */
const VAULTS: ListBounds = { countMin: 0, countMax: VAULTS_MAX, isDistinct: false };

/** A list of addresses. */
function faultsOfWallets(
  value: unknown,
  path: Path,
  { countMin, countMax, isDistinct }: ListBounds,
): Fault[] {
  if (!Array.isArray(value)) return [faultAt(path, 'wrong-type', 'must be a list of addresses')];
  if (value.length < countMin) return [faultAt(path, 'too-short', 'must have at least one wallet')];
  if (value.length > countMax) return [faultAt(path, 'too-many', `must have at most ${countMax} wallets`)];
  const firstAt = new Map<string, number>();
  return value.flatMap((wallet: unknown, index) => {
    const at = [...path, index];
    const faults = faultsOfAddress(wallet, at);
    if (faults.length > 0 || !isDistinct) return faults;
    const key = (wallet as string).toLowerCase();
    const earlier = firstAt.get(key);
    if (earlier !== undefined)
      return [faultAt(at, 'repeated', `repeats ${pointerOf([...path, earlier])}; list each wallet once`)];
    firstAt.set(key, index);
    return [];
  });
}

function faultsOfRef(value: unknown, path: Path): Fault[] {
  if (typeof value !== 'string') return [faultAt(path, 'wrong-type', 'must be a string')];
  const fault = faultOfRef(value);
  return fault ? [faultAt(path, fault[0], fault[1])] : [];
}
