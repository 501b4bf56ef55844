/** Most ids a rule may name, after expansion of its ranges. */
export const TOKEN_IDS_MAX = 256;

const UINT256_MAX = (1n << 256n) - 1n;
const PART = /^(0|[1-9][0-9]{0,77})(?:-(0|[1-9][0-9]{0,77}))?$/;

type TokenIds =
  | { readonly ok: true; readonly ids: readonly bigint[] }
  | { readonly ok: false; readonly reason: 'grammar' | 'reversed' | 'too-large' | 'too-many' };

/**
 * Expands ids and ranges into a sorted list without repeats.
 *
 * @example
 * parseTokenIds('7-8,7'); // { ok: true, ids: [7n, 8n] }
 */
export function parseTokenIds(text: string): TokenIds {
  // Ranges may overlap as often as a body has room for: of those with one first id, only the
  // longest is expanded.
  const lastOf = new Map<bigint, bigint>();
  for (const part of new Set(text.split(','))) {
    const match = PART.exec(part);
    if (!match) return { ok: false, reason: 'grammar' };
    const first = BigInt(match[1] ?? '');
    const last = match[2] === undefined ? first : BigInt(match[2]);
    if (last > UINT256_MAX || first > UINT256_MAX) return { ok: false, reason: 'too-large' };
    if (last < first) return { ok: false, reason: 'reversed' };
    if (last - first >= BigInt(TOKEN_IDS_MAX)) return { ok: false, reason: 'too-many' };
    if (last > (lastOf.get(first) ?? -1n)) lastOf.set(first, last);
    if (lastOf.size > TOKEN_IDS_MAX) return { ok: false, reason: 'too-many' };
  }
  const ids: bigint[] = [];
  let next = 0n;
  for (const [first, last] of [...lastOf].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (next = first > next ? first : next; next <= last; next++) ids.push(next);
    if (ids.length > TOKEN_IDS_MAX) return { ok: false, reason: 'too-many' };
  }
  return { ok: true, ids };
}
