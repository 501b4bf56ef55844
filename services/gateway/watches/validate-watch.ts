import { z } from 'zod';
import { type Fault, faultsOfIssues, unknownMember } from '#shared/contracts/fault.ts';
import { BlockTag } from '#shared/contracts/rules/rule.ts';
import { RULE_SET_ID } from '#shared/contracts/rules/rule-set.ts';
import { type CallbackPolicy, judgeCallbackUrl } from '#shared/contracts/webhooks/judge-callback-url.ts';
import { CallbackUrl } from '#shared/rules/body-texts.ts';
import { asSentence } from '#shared/rules/validate-body.ts';
import type { WatchSettings } from '#shared/stores/watches/write-watches.ts';

const EVERY_SECONDS = { min: 60, max: 604_800, default: 86_400 } as const;
const GRACE_SECONDS_MAX = 86_400;
const STALLED_AFTER_SECONDS = { min: 60, max: 86_400, default: 900 } as const;
const QUOTA_SHARE_DEFAULT = 0.5;
const MASS_REVOCATION = { share: 0.2, atLeast: 20 } as const;

/** The body of a watch. */
export const WatchBody = z
  .strictObject({
    ruleSet: z.string().regex(RULE_SET_ID),
    callbackUrl: CallbackUrl,
    everySeconds: z.number().int().min(EVERY_SECONDS.min).max(EVERY_SECONDS.max).optional(),
    follow: z.boolean().optional(),
    blockTag: BlockTag.optional(),
    explain: z.boolean().optional(),
    graceSeconds: z.number().int().min(0).max(GRACE_SECONDS_MAX).optional(),
    stalledAfterSeconds: z
      .number()
      .int()
      .min(STALLED_AFTER_SECONDS.min)
      .max(STALLED_AFTER_SECONDS.max)
      .optional(),
    quotaShare: z.number().gt(0).max(1).optional(),
    massRevocation: z
      .strictObject({
        share: z.number().gt(0).max(1).optional(),
        atLeast: z.number().int().min(1).optional(),
      })
      .optional(),
  })
  .meta({ id: 'WatchBody' });

const EXPECTED: Readonly<Record<string, string>> = {
  '': 'must be a JSON object',
  '/ruleSet': 'must be the id of a rule set, such as "holders"',
  '/callbackUrl': 'must be a URL as a string, of at most 2048 characters',
  '/everySeconds': `must be a whole number of seconds from ${EVERY_SECONDS.min} to ${EVERY_SECONDS.max}`,
  '/follow': 'must be true or false',
  '/blockTag': `must be one of ${BlockTag.options.join(', ')}`,
  '/explain': 'must be true or false',
  '/graceSeconds': `must be a whole number of seconds from 0 to ${GRACE_SECONDS_MAX}`,
  '/stalledAfterSeconds': `must be a whole number of seconds from ${STALLED_AFTER_SECONDS.min} to ${STALLED_AFTER_SECONDS.max}`,
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
  const { ruleSet, everySeconds, follow, blockTag, quotaShare, massRevocation, ...others } = parsed.data;
  return {
    ok: true,
    content: {
      ruleSet,
      callbackUrl: judged.href,
      everySeconds: everySeconds ?? EVERY_SECONDS.default,
      follow: follow ?? true,
      blockTag: blockTag ?? 'latest',
      explain: others.explain ?? false,
      graceSeconds: others.graceSeconds ?? 0,
      stalledAfterSeconds: others.stalledAfterSeconds ?? STALLED_AFTER_SECONDS.default,
      quotaShare: quotaShare ?? QUOTA_SHARE_DEFAULT,
      massRevocation: {
        share: massRevocation?.share ?? MASS_REVOCATION.share,
        atLeast: massRevocation?.atLeast ?? MASS_REVOCATION.atLeast,
      },
    },
  };
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
