const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A span such as `90s`, `30m`, `24h` or `7d` in ms; undefined if it is none, or is longer than a year. */
export function parseDuration(text: string): number | undefined {
  const match = /^([0-9]{1,8})([smhd])$/.exec(text);
  if (!match) return undefined;
  const ms = Number(match[1]) * UNITS[match[2] as keyof typeof UNITS];
  return ms <= 366 * UNITS.d ? ms : undefined;
}
