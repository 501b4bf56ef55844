import { hash } from 'node:crypto';
import { z } from 'zod';
import type { EvaluatedCheck } from './check-completed.ts';
import { UndeterminedCode } from './result.ts';

/** The newest checks that are kept of each client app. */
export const CHECK_LOG_COUNT_MAX = 1_000;
/** The roles by which a logged check is found; those of a check with more are left out. */
export const LOGGED_ROLES_MAX = 32;
const ROLE_TAG_LENGTH = 8;

/** One check in the log of its client app. */
export type LoggedCheck = {
  readonly requestId: string;
  readonly mode: EvaluatedCheck['mode'];
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
  /** The API key of the request. */
  readonly keyId: string;
  /** `roleTagOf` of its roles, at most `LOGGED_ROLES_MAX`. */
  readonly roleTags: readonly string[];
  /** The position of the request in the topic of its lane. */
  readonly request: { readonly partition: number; readonly offset: number };
  /** From acceptance to the beginning of the evaluation; absent for a check that was given up. */
  readonly waitedMs?: number;
  /** From acceptance to the stored result; absent if the log was rebuilt. */
  readonly storedMs?: number;
};

/** A short hash of a role id: role ids may be long, and may hold spaces. */
export const roleTagOf = (roleId: string): string =>
  hash('sha256', roleId, 'base64url').slice(0, ROLE_TAG_LENGTH);

/**
 * The check as one line of text: shorter than JSON, because a thousand lines are kept of each
 * client app.
 *
 * @example
 * lineOfCheck({ requestId: 'r', mode: 'sync', status: 'completed', acceptedAtMs: 1, durationMs: 2, granted: 1, denied: 0,
 *   undetermined: 0, codes: [], keyId: 'key_1', roleTags: [], request: { partition: 3, offset: 17 }, waitedMs: 1 });
 * // 'r sync completed 1 2 1 0 0  key_1  3/17 1 '
 */
export const lineOfCheck = (check: LoggedCheck): string =>
  [
    check.requestId,
    check.mode,
    check.status,
    check.acceptedAtMs,
    check.durationMs,
    check.granted,
    check.denied,
    check.undetermined,
    check.codes.join(','),
    check.keyId,
    check.roleTags.join(','),
    `${check.request.partition}/${check.request.offset}`,
    check.waitedMs ?? '',
    check.storedMs ?? '',
  ].join(' ');

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
  z.string(),
  z.string(),
  z.string().regex(/^[0-9]{1,5}\/[0-9]{1,16}$/),
  z.string().regex(/^[0-9]{0,15}$/),
  z.string().regex(/^[0-9]{0,15}$/),
]);

/** `undefined` for a line that is none. */
export function parseCheckLine(line: string): LoggedCheck | undefined {
  const parsed = Line.safeParse(line.split(' '));
  if (!parsed.success) return undefined;
  const [requestId, mode, status, acceptedAtMs, durationMs, ...outcome] = parsed.data;
  const [granted, denied, undetermined, codes, keyId, roleTags, position, waitedMs, storedMs] = outcome;
  const [partition = 0, offset = 0] = position.split('/').map(Number);
  return {
    requestId,
    mode,
    status,
    acceptedAtMs,
    durationMs,
    granted,
    denied,
    undetermined,
    codes: codes.split(',').flatMap((code) => UndeterminedCode.safeParse(code).data ?? []),
    keyId,
    roleTags: roleTags.split(',').filter((tag) => tag !== ''),
    request: { partition, offset },
    ...(waitedMs !== '' && { waitedMs: Number(waitedMs) }),
    ...(storedMs !== '' && { storedMs: Number(storedMs) }),
  };
}
