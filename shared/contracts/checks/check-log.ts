import { hash } from 'node:crypto';
import { z } from 'zod';
import { UndeterminedCode } from './result.ts';

/** The newest checks that are kept of each client app. */
export const CHECK_LOG_COUNT_MAX = 1_000;
/** The roles by which a logged check is found; those of a check with more are left out. */
export const LOGGED_ROLES_MAX = 32;
const ROLE_TAG_LENGTH = 8;

const count = z.number().int().nonnegative();
export const LoggedCheck = z.object({
  requestId: z.string().min(1),
  mode: z.enum(['sync', 'poll', 'webhook']),
  status: z.enum(['completed', 'failed']),
  acceptedAtMs: count,
  /** From acceptance to the end of the evaluation. */
  durationMs: z.number().int(),
  /** Rules by outcome. */
  granted: count,
  denied: count,
  undetermined: count,
  /** The codes of its errors, each once. */
  codes: z.array(UndeterminedCode).readonly(),
  keyId: z.string(),
  /** `roleTagOf` of its roles, at most `LOGGED_ROLES_MAX`. */
  roleTags: z.array(z.string()).readonly(),
  /** The position of the request in the topic of its lane. */
  request: z.object({ partition: count, offset: count }),
  /** From acceptance to the beginning of the evaluation; absent for a check that was given up. */
  waitedMs: count.optional(),
  /** From acceptance to the stored result; absent if the log was rebuilt. */
  storedMs: count.optional(),
});
export type LoggedCheck = Readonly<z.infer<typeof LoggedCheck>>;

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

/** `undefined` for a line that is none. */
export function parseCheckLine(line: string): LoggedCheck | undefined {
  const [requestId, mode, status, acceptedAtMs, durationMs, ...outcome] = line.split(' ');
  const [granted, denied, undetermined, codes, keyId, roleTags, position, waitedMs, storedMs] = outcome;
  if (outcome.length !== 9) return undefined;
  const [partition, offset] = listOf(position, '/').map(Number);
  return LoggedCheck.safeParse({
    requestId,
    mode,
    status,
    acceptedAtMs: Number(acceptedAtMs),
    durationMs: Number(durationMs),
    granted: Number(granted),
    denied: Number(denied),
    undetermined: Number(undetermined),
    codes: listOf(codes).filter((code) => UndeterminedCode.safeParse(code).success),
    keyId,
    roleTags: listOf(roleTags),
    request: { partition, offset },
    ...(waitedMs && { waitedMs: Number(waitedMs) }),
    ...(storedMs && { storedMs: Number(storedMs) }),
  }).data;
}

const listOf = (text = '', separator = ','): string[] => (text === '' ? [] : text.split(separator));
