import { z } from 'zod';
import { type Fault, faultAt, type Judged } from '#shared/contracts/fault.ts';
import { WatchSettings } from '#shared/contracts/watches/watch.ts';
import { type CallbackPolicy, judgeCallbackUrl } from '#shared/contracts/webhooks/judge-callback-url.ts';
import { CallbackUrl } from '#shared/rules/body-texts.ts';
import { describeIssues } from '#shared/rules/validate-body.ts';

export const WatchBody = z
  .strictObject({ ...WatchSettings.shape, callbackUrl: CallbackUrl })
  .meta({ id: 'WatchBody' });

/**
 * Validates the body of a watch and lists every fault by JSON pointer.
 *
 * @param body the result of `JSON.parse`
 */
export function validateWatch(body: unknown, policy: CallbackPolicy): Judged<WatchSettings> {
  const parsed = WatchBody.safeParse(body);
  const faults = describeIssues(parsed.error?.issues ?? [], body, '', (path) =>
    path.length === 1 ? Object.keys(WatchBody.shape) : ['share', 'atLeast'],
  ).map(asUnknownRuleSet);
  const url = (body as { readonly callbackUrl?: unknown } | null)?.callbackUrl;
  const judged = typeof url === 'string' ? judgeCallbackUrl(url, policy) : undefined;
  if (judged && 'fault' in judged && !faults.some(({ pointer }) => pointer === '/callbackUrl'))
    faults.push({ pointer: '/callbackUrl', ...judged.fault });
  if (!parsed.success || faults.length > 0 || !judged || 'fault' in judged) return { ok: false, faults };
  return { ok: true, value: { ...parsed.data, callbackUrl: judged.href } };
}

/** As in a check: a text that cannot be an id is the id of no rule set. */
const asUnknownRuleSet = (fault: Fault): Fault =>
  fault.pointer === '/ruleSet' && fault.code === 'malformed'
    ? faultAt('/ruleSet', 'rule-set-unknown', 'names a rule set that does not exist')
    : fault;
