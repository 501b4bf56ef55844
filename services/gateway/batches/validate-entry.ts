import { z } from 'zod';
import type { BatchEntry } from '#shared/contracts/batches/batch.ts';
import { faultAt, type Judged, pointerOf } from '#shared/contracts/fault.ts';
import { Address, Ref } from '#shared/rules/body-texts.ts';
import { describeIssues } from '#shared/rules/validate-body.ts';
import { isObject } from '#shared/rules/validate-rules.ts';
import { exactlyOneOf, wallets } from '../checks/check-body.ts';
import { faultsOfWallets } from '../checks/validate-check.ts';

const Members = z
  .strictObject({ ...wallets, ref: Ref.optional() })
  .meta({ allOf: [exactlyOneOf('account', 'accounts')] });

/** One entry of a batch as clients send it. */
export const EntryBody = z.union([Address, Members]).meta({
  id: 'BatchEntry',
  description: 'An address, or the wallets of one person with your id for the person.',
});
type EntryBody = z.infer<typeof EntryBody>;

/**
 * Validates one entry of a batch: an address, or an object with wallets and the caller's own id.
 *
 * @param path the path of the entry in the body
 */
export function validateEntry(value: unknown, path: readonly PropertyKey[]): Judged<BatchEntry> {
  const place = pointerOf(path);
  const isText = typeof value === 'string';
  if (!isText && !isObject(value)) return { ok: false, faults: [faultAt(place, 'wrong-type', NO_ENTRY)] };
  const { error, data } = (isText ? Address : Members).safeParse(value);
  const found = describeIssues(error?.issues ?? [], value, place, () => Object.keys(Members.shape));
  const broken = new Set(found.map(({ pointer }) => pointer));
  const faults = [...found, ...faultsOfWallets(value, broken, place)];
  return data === undefined || faults.length > 0 ? { ok: false, faults } : { ok: true, value: entryOf(data) };
}

const NO_ENTRY = 'must be an address as a string, or an object with account';

function entryOf(body: EntryBody): BatchEntry {
  if (typeof body === 'string') return { account: body };
  const { account, accounts, vaults, ref } = body;
  return {
    account: account ?? accounts?.[0] ?? '',
    ...(accounts ? { accounts } : {}),
    ...(vaults && vaults.length > 0 ? { vaults } : {}),
    ...(ref === undefined ? {} : { ref }),
  };
}

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
