import { z } from 'zod';
import type { CheckCompleted } from './check-completed.ts';
import type { LoggedCheck } from './check-log.ts';
import { UndeterminedCode } from './result.ts';

/**
 * What one client app did on one day (UTC), as counters by name:
 *
 *   `<mode>.<status>.<bucket>`             checks, by how long they took
 *   `granted`, `denied`, `undetermined`    rules
 *   `refused`                              requests answered 429
 *
 * A check is counted on the day of its acceptance, once, when its first result is saved.
 */
export type DayFigures = Readonly<Record<string, number>>;

export const MODES = ['sync', 'poll', 'webhook'] as const;
export const STATUSES = ['completed', 'failed'] as const;

/** Upper ends of the buckets in ms, inclusive; the last bucket has none. */
export const BUCKET_ENDS_MS = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000,
  7_000, 10_000, 15_000, 30_000, 60_000, 300_000, 3_600_000,
] as const;

/** Of a result, only what is counted: it was checked when it was published. */
const CountedResult = z.object({
  status: z.enum(STATUSES),
  roles: z.array(z.object({ granted: z.boolean() })),
  errors: z.array(z.object({ code: z.string() }).partial()),
  evaluatedAt: z.iso.datetime(),
});

export type CountedCheck = {
  readonly date: string;
  readonly figures: DayFigures;
  /** The same check in the log of its client app. */
  readonly logged: LoggedCheck;
};

/**
 * What a completed check adds to its day; nothing where its result is not one of this version.
 *
 * @example
 * countCheck(message)?.figures; // { 'sync.completed.7': 1, granted: 2 }
 */
export function countCheck(
  message: Pick<CheckCompleted, 'requestId' | 'acceptedAt' | 'delivery' | 'resultJson'>,
): CountedCheck | undefined {
  const parsed = CountedResult.safeParse(JSON.parse(message.resultJson));
  if (!parsed.success) return undefined;
  const { status, roles, errors, evaluatedAt } = parsed.data;
  const granted = roles.filter((role) => role.granted).length;
  const denied = roles.length - granted;
  const acceptedAtMs = Date.parse(message.acceptedAt);
  const durationMs = Date.parse(evaluatedAt) - acceptedAtMs;
  const { mode } = message.delivery;
  return {
    date: message.acceptedAt.slice(0, 10),
    figures: {
      [`${mode}.${status}.${bucketOf(durationMs)}`]: 1,
      ...(granted > 0 && { granted }),
      ...(denied > 0 && { denied }),
      ...(errors.length > 0 && { undetermined: errors.length }),
    },
    logged: {
      requestId: message.requestId,
      mode,
      status,
      acceptedAtMs,
      durationMs,
      granted,
      denied,
      undetermined: errors.length,
      codes: [...new Set(errors.flatMap(({ code }) => UndeterminedCode.safeParse(code).data ?? []))],
    },
  };
}

/** The place of the bucket that a duration falls into. */
export function bucketOf(durationMs: number): number {
  const found = BUCKET_ENDS_MS.findIndex((endMs) => durationMs <= endMs);
  return found === -1 ? BUCKET_ENDS_MS.length : found;
}
