const LOCALE = 'en-GB';
const DATE = new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'short', year: 'numeric' });
const MINUTE = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'short' });
const RELATIVE = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto' });
const COUNT = new Intl.NumberFormat(LOCALE);
const PERCENT = new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits: 1 });

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Seconds in each unit, the largest first. */
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

export const formatCount = (count: number) => COUNT.format(count);
/** An exact amount, with its digits in groups; any other text as it is. */
export function formatAmount(text: string) {
  const [, whole = '', fraction = ''] = /^(-?[0-9]+)(\.[0-9]+)?$/.exec(text) ?? [];
  return whole === '' ? text : `${COUNT.format(BigInt(whole))}${fraction}`;
}
/** @param share from 0 to 1 */
export const formatShare = (share: number) => (share > 0 && share < 0.001 ? '< 0.1%' : PERCENT.format(share));
/** Bytes in the largest unit that leaves at least 1: `640 kB`, `33.6 MB`. */
export function formatBytes(bytes: number) {
  const power = Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1_000 ** power;
  return `${value.toFixed(power > 0 && value < 100 ? 1 : 0)} ${BYTE_UNITS[power]}`;
}
export const formatDate = (iso: string) => DATE.format(new Date(iso));
export const formatMinute = (iso: string) => MINUTE.format(new Date(iso));

/** What a field of date and time holds, as the API takes it; undefined while it is empty or half
 * typed. */
export const instantOf = (local: string) =>
  Number.isNaN(Date.parse(local)) ? undefined : new Date(local).toISOString();

/** A duration; a dash where nothing was measured. */
export function formatMs(ms: number | null | undefined) {
  if (ms === null || ms === undefined) return '–';
  if (ms < 1) return '< 1 ms';
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

/** How far an instant is from now: `3 hours ago`, `in 2 days`, `just now`. */
export function formatDistance(iso: string, nowMs: number) {
  const seconds = (Date.parse(iso) - nowMs) / 1_000;
  const unit = UNITS.find(([, size]) => Math.abs(seconds) >= size);
  return unit ? RELATIVE.format(Math.round(seconds / unit[1]), unit[0]) : 'just now';
}

/** A span in the largest unit of which it is a whole number: `hour`, `90 minutes`. */
export function formatSpan(seconds: number) {
  const [unit, size] = UNITS.find(([, one]) => seconds % one === 0) ?? ['second', 1];
  return seconds === size ? unit : formatPlural(seconds / size, unit);
}

/** `1 key`, `2 keys`. */
export const formatPlural = (count: number, one: string, many = `${one}s`) =>
  `${formatCount(count)} ${count === 1 ? one : many}`;
