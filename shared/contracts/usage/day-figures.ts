import { z } from 'zod';
import type { BatchPartCompleted } from '../batches/batch.ts';
import type { EvaluatedCheck } from '../checks/check-completed.ts';
import { LOGGED_ROLES_MAX, type LoggedCheck, roleTagOf } from '../checks/check-log.ts';
import { UndeterminedCode } from '../checks/result.ts';

/**
 * The activity of one client app on one day (UTC), as counters by name:
 *
 *   `<mode>.<status>.<bucket>`             checks, by how long they took
 *   `batch.<status>`                       entries of batches
 *   `granted`, `denied`, `undetermined`    rules
 *   `undetermined.client`                  of these, because of the rule itself: a wrong contract, say
 *   `undetermined.service`                 of these, because an endpoint or a part of the service failed
 *   `key.<keyId>`                          checks by API key
 *   `bytes`                                bytes that the app made the system keep
 *   `refused`                              requests refused by a limit of the client app
 *
 * A check is counted on the day of its acceptance, once, when its first result is saved; bytes are
 * counted when they are written.
 */
export type DayFigures = Readonly<Record<string, number>>;

export const MODES = ['sync', 'poll', 'webhook'] as const;
export const STATUSES = ['completed', 'failed'] as const;

export const BYTES_FIGURE = 'bytes';

/** Before the id of an API key in the name of a figure. */
export const KEY_FIGURE = 'key.';
/** The checks of further keys, once a day has `DAY_FIGURES_MAX` figures. */
export const OTHER_KEYS_FIGURE = `${KEY_FIGURE}other`;
/** A client may make keys and revoke them all day, and each would be a figure that is kept for
 * weeks. About 190 figures are not of keys. */
export const DAY_FIGURES_MAX = 400;

/** Upper ends of the buckets in ms, inclusive; the last bucket has none. */
export const BUCKET_ENDS_MS = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000,
  7_000, 10_000, 15_000, 30_000, 60_000, 300_000, 3_600_000,
] as const;

/** The counted fields of a result; the whole result was validated when it was published. */
const CountedResult = z.object({
  status: z.enum(STATUSES),
  roles: z.array(z.object({ id: z.string(), granted: z.boolean() })),
  /** Without a role: of a wallet that is not proved. */
  errors: z.array(
    z.object({ code: UndeterminedCode, roleId: z.string().optional(), retryable: z.boolean() }),
  ),
  evaluatedAt: z.iso.datetime(),
});

export type CountedCheck = {
  readonly date: string;
  readonly figures: DayFigures;
  /** The same check in the log of its client app. */
  readonly logged: LoggedCheck;
};

/**
 * The counts that a completed check adds to its day; nothing if its result is none.
 *
 * @example
 * countCheck(message)?.figures; // { 'sync.completed.7': 1, granted: 2 }
 */
export function countCheck(
  message: Pick<
    EvaluatedCheck,
    'requestId' | 'keyId' | 'acceptedAt' | 'mode' | 'resultJson' | 'startedAt' | 'request'
  >,
): CountedCheck | undefined {
  const parsed = CountedResult.safeParse(JSON.parse(message.resultJson));
  if (!parsed.success) return undefined;
  const { status, roles, errors, evaluatedAt } = parsed.data;
  const granted = roles.filter((role) => role.granted).length;
  const denied = roles.length - granted;
  const acceptedAtMs = Date.parse(message.acceptedAt);
  const durationMs = Date.parse(evaluatedAt) - acceptedAtMs;
  const { mode } = message;
  return {
    date: message.acceptedAt.slice(0, 10),
    figures: {
      [`${mode}.${status}.${bucketOf(durationMs)}`]: 1,
      ...(granted > 0 && { granted }),
      ...(denied > 0 && { denied }),
      ...(errors.length > 0 && { undetermined: errors.length, ...causesOf(errors) }),
      [`${KEY_FIGURE}${message.keyId}`]: 1,
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
      codes: [...new Set(errors.map(({ code }) => code))],
      keyId: message.keyId,
      roleTags: roleTagsOf([...roles.map(({ id }) => id), ...errors.flatMap(({ roleId }) => roleId ?? [])]),
      request: message.request,
      ...(message.startedAt !== undefined && {
        waitedMs: Math.max(0, Date.parse(message.startedAt) - acceptedAtMs),
      }),
    },
  };
}

/**
 * Counts unread rules by cause. An error that another try will not change is the client's: its
 * contract or its block. So is a minimum block that the chain has not reached.
 */
function causesOf(errors: readonly { readonly code: string; readonly retryable: boolean }[]) {
  const byClient = errors.filter(
    ({ code, retryable }) => !retryable || code === 'min-block-not-reached',
  ).length;
  const byService = errors.length - byClient;
  return {
    ...(byClient > 0 && { 'undetermined.client': byClient }),
    ...(byService > 0 && { 'undetermined.service': byService }),
  };
}

const roleTagsOf = (roleIds: readonly string[]): string[] =>
  [...new Set(roleIds)].slice(0, LOGGED_ROLES_MAX).map(roleTagOf);

/**
 * The figures that the results of a part add to the day of their batch. An entry counts once for
 * each role. Its duration does not count, because it waits for single checks.
 *
 * @example
 * countPart(part).figures; // { 'batch.completed': 500, granted: 120, denied: 380 }
 */
export function countPart({
  acceptedAt,
  lineCount,
  failedCount,
  roles,
}: Pick<BatchPartCompleted, 'acceptedAt' | 'lineCount' | 'failedCount' | 'roles'>): {
  readonly date: string;
  readonly figures: DayFigures;
} {
  const sumOf = (outcome: 'granted' | 'denied' | 'undetermined') =>
    roles.reduce((sum, role) => sum + role[outcome], 0);
  const figures = {
    'batch.completed': lineCount - failedCount,
    'batch.failed': failedCount,
    granted: sumOf('granted'),
    denied: sumOf('denied'),
    undetermined: sumOf('undetermined'),
  };
  return {
    date: acceptedAt.slice(0, 10),
    figures: Object.fromEntries(Object.entries(figures).filter(([, count]) => count > 0)),
  };
}

export function bucketOf(durationMs: number): number {
  const found = BUCKET_ENDS_MS.findIndex((endMs) => durationMs <= endMs);
  return found === -1 ? BUCKET_ENDS_MS.length : found;
}
