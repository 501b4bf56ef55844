import { z } from 'zod';
import { type Fault, faultsOfIssues, unknownMember } from '#shared/contracts/fault.ts';
import { WatchSettings } from '#shared/contracts/watches/watch.ts';
import { type CallbackPolicy, judgeCallbackUrl } from '#shared/contracts/webhooks/judge-callback-url.ts';
import { CallbackUrl } from '#shared/rules/body-texts.ts';
import { asSentence } from '#shared/rules/validate-body.ts';

/** The body of a watch. */
export const WatchBody = z
  .strictObject({ ...WatchSettings.shape, callbackUrl: CallbackUrl })
  .meta({ id: 'WatchBody' });

const { everySeconds, stalledAfterSeconds, graceSeconds, blockTag } = WatchSettings.shape;
const secondsOf = (setting: typeof everySeconds): string => {
  const { minValue, maxValue } = setting.unwrap();
  return `must be a whole number of seconds from ${minValue} to ${maxValue}`;
};

const EXPECTED: Readonly<Record<string, string>> = {
  '': 'must be a JSON object',
  '/ruleSet': 'must be the id of a rule set, such as "holders"',
  '/callbackUrl': 'must be a URL as a string, of at most 2048 characters',
  '/everySeconds': secondsOf(everySeconds),
  '/follow': 'must be true or false',
  '/blockTag': `must be one of ${blockTag.unwrap().options.join(', ')}`,
  '/explain': 'must be true or false',
  '/graceSeconds': secondsOf(graceSeconds),
  '/stalledAfterSeconds': secondsOf(stalledAfterSeconds),
  '/quotaShare': 'must be a number above 0 and at most 1',
  '/massRevocation': 'must be an object with share and atLeast',
  '/massRevocation/share': 'must be a number above 0 and at most 1',
  '/massRevocation/atLeast': 'must be a whole number of at least 1',
};

type WatchValidation =
  | { readonly ok: true; readonly content: WatchSettings }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/**
 * Validates the body of a watch and lists every fault by JSON pointer.
 *
 * @param body the result of `JSON.parse`
 */
export function validateWatch(body: unknown, policy: CallbackPolicy): WatchValidation {
  const parsed = WatchBody.safeParse(body);
  const faults: Fault[] = parsed.success
    ? []
    : faultsOfIssues(parsed.error.issues, body, faultOfIssue, {
        unknown: (pointer, path) =>
          unknownMember(pointer, path.length === 1 ? Object.keys(WatchBody.shape) : ['share', 'atLeast']),
        missing: (pointer) => ({ pointer, code: 'required', detail: 'is required' }),
      }).map(asSentence);
  const url = (body as { readonly callbackUrl?: unknown } | null)?.callbackUrl;
  const judged = typeof url === 'string' ? judgeCallbackUrl(url, policy) : undefined;
  if (judged && 'fault' in judged && !faults.some(({ pointer }) => pointer === '/callbackUrl'))
    faults.push({ pointer: '/callbackUrl', ...judged.fault });
  if (!parsed.success || faults.length > 0 || !judged || 'fault' in judged) return { ok: false, faults };
  return { ok: true, content: { ...parsed.data, callbackUrl: judged.href } };
}

function faultOfIssue(issue: z.core.$ZodIssue, pointer: string): Fault {
  if (issue.code === 'custom') {
    const { code } = issue.params as { readonly code: string };
    return { pointer, code, detail: issue.message };
  }
  // As in a check: a text that cannot be an id is the id of no rule set.
  if (pointer === '/ruleSet' && issue.code === 'invalid_format')
    return { pointer, code: 'rule-set-unknown', detail: 'names a rule set that does not exist' };
  const code = FAULT_CODES[issue.code] ?? 'malformed';
  return { pointer, code, detail: EXPECTED[pointer] ?? 'is malformed' };
}

const FAULT_CODES: Readonly<Record<string, string>> = {
  invalid_type: 'wrong-type',
  invalid_value: 'not-a-choice',
  too_small: 'out-of-range',
  too_big: 'out-of-range',
};
