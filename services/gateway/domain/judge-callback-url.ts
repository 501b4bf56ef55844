import type { Fault } from '#shared/contracts/fault.ts';
import { type CallbackPolicy, judgeCallbackUrl as judgeUrl } from '#shared/contracts/judge-callback-url.ts';

export type { CallbackPolicy };

const POINTER = '/callbackUrl';

/** Judges the callback URL of a check; a fault names its member. */
export function judgeCallbackUrl(
  text: string,
  policy: CallbackPolicy,
): { readonly href: string } | { readonly fault: Fault } {
  const judgement = judgeUrl(text, policy);
  return 'href' in judgement ? judgement : { fault: { pointer: POINTER, ...judgement.fault } };
}
