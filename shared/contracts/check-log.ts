import { z } from 'zod';
import type { CheckCompleted } from './check-completed.ts';
import { UndeterminedCode } from './result.ts';

/** The newest checks that are kept of each client app. */
export const CHECK_LOG_COUNT_MAX = 1_000;

/** One check in the log of its client app. */
export type LoggedCheck = {
  readonly requestId: string;
  readonly mode: CheckCompleted['delivery']['mode'];
  readonly status: 'completed' | 'failed';
  readonly acceptedAtMs: number;
  /** From acceptance to the end of the evaluation. */
  readonly durationMs: number;
  /** Rules by outcome. */
  readonly granted: number;
  readonly denied: number;
  readonly undetermined: number;
  /** The codes of its errors, each once. */
  readonly codes: readonly UndeterminedCode[];
};

/**
 * The check as one line of text: shorter than JSON, because a thousand lines are kept of each client app.
 *
 * @example
 * lineOfCheck({ requestId: 'r', mode: 'sync', status: 'completed', acceptedAtMs: 1, durationMs: 2, granted: 1, denied: 0,
 *   undetermined: 0, codes: [] }); // 'r sync completed 1 2 1 0 0 '
 */
export const lineOfCheck = (check: LoggedCheck): string => {
  const { requestId, mode, status, acceptedAtMs, durationMs, granted, denied, undetermined, codes } = check;
  return [
    requestId,
    mode,
    status,
    acceptedAtMs,
    durationMs,
    granted,
    denied,
    undetermined,
    codes.join(','),
  ].join(' ');
};

const count = z.coerce.number().int().nonnegative();
const Line = z.tuple([
  z.string().min(1),
  z.enum(['sync', 'poll', 'webhook']),
  z.enum(['completed', 'failed']),
  count,
  z.coerce.number().int(),
  count,
  count,
  count,
  z.string(),
]);

/** `undefined` for a line of another version. */
export function parseCheckLine(line: string): LoggedCheck | undefined {
  const parsed = Line.safeParse(line.split(' '));
  if (!parsed.success) return undefined;
  const [requestId, mode, status, acceptedAtMs, durationMs, granted, denied, undetermined, text] =
    parsed.data;
  const codes = text.split(',').flatMap((code) => UndeterminedCode.safeParse(code).data ?? []);
  return { requestId, mode, status, acceptedAtMs, durationMs, granted, denied, undetermined, codes };
}
