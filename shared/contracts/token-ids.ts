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
  const ids = new Set<bigint>();
  for (const part of text.split(',')) {
    const match = PART.exec(part);
    if (!match) return { ok: false, reason: 'grammar' };
    const first = BigInt(match[1] ?? '');
    const last = match[2] === undefined ? first : BigInt(match[2]);
    if (last > UINT256_MAX || first > UINT256_MAX) return { ok: false, reason: 'too-large' };
    if (last < first) return { ok: false, reason: 'reversed' };
    if (last - first >= BigInt(TOKEN_IDS_MAX)) return { ok: false, reason: 'too-many' };
    for (let id = first; id <= last; id++) ids.add(id);
    if (ids.size > TOKEN_IDS_MAX) return { ok: false, reason: 'too-many' };
  }
  return { ok: true, ids: [...ids].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)) };
}
