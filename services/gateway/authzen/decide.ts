import type { z } from 'zod';
import { foldRoles } from '#shared/contracts/checks/fold-roles.ts';
import type { CheckResult } from '#shared/contracts/checks/result.ts';
import type { OnUndetermined } from '#shared/contracts/rules/rule.ts';
import { Problem, retryAfter } from '#shared/http/problem.ts';
import type { Decided } from './operations.ts';

export type Decision = { readonly answer: z.infer<typeof Decided> } | { readonly problem: Problem };

/**
 * Decides one role by the result of its check. The standard has no third value: an undetermined
 * role is a problem, unless the check asked for denials of what could not be read.
 *
 * @example
 * decide(result, 'gold', 'omit'); // { answer: { decision: true, context: { outcome: 'granted', … } } }
 */
export function decide(result: CheckResult, roleId: string, onUndetermined: OnUndetermined): Decision {
  const { requestId, evaluatedAt, blocks, status } = result;
  const outcome = foldRoles(result).get(roleId) ?? 'undetermined';
  const isDenied = outcome === 'undetermined' && onUndetermined === 'deny' && status === 'completed';
  if (outcome === 'undetermined' && !isDenied) return { problem: undetermined(result, roleId) };
  const decision = outcome === 'granted';
  const context = { outcome: decision ? 'granted' : 'denied', requestId, evaluatedAt, blocks } as const;
  return { answer: { decision, context } };
}

/** With the errors of the role; with all of them where another role's failed the check. */
function undetermined({ requestId, errors: all }: CheckResult, roleId: string): Problem {
  const own = all.filter((error) => 'roleId' in error && error.roleId === roleId);
  const errors = own.length > 0 ? own : all;
  const [first] = errors;
  const detail = `The role could not be decided.${first ? ` ${first.message}` : ''}`;
  return new Problem('evaluation-unavailable', detail, {
    members: { requestId, errors },
    headers: errors.some(({ retryable }) => retryable) ? retryAfter(1_000) : {},
  });
}
