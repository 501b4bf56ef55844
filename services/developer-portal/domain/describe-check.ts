import type { LoggedCheck } from '#shared/contracts/checks/check-log.ts';
import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import type { Consistency } from '#shared/contracts/rules/rule.ts';

/**
 * The body to send a check again: the wallets, rules and options of the accepted request. Members
 * with their default are left out, and so are `name` and `description`, which messages do not
 * contain. The rules of a rule set are those of the version at acceptance.
 *
 * @example
 * bodyOfCheck(message); // { account: '0x…', explain: true, rules: [ … ] }
 */
export function bodyOfCheck(check: CheckRequested): Record<string, unknown> {
  const { account, accounts, vaults, rules, explain, proof, onUndetermined, delivery } = check;
  const consistency = consistencyOf(check.consistency);
  return {
    ...(accounts ? { accounts } : { account }),
    ...(vaults && vaults.length > 0 && { vaults }),
    ...(onUndetermined !== 'omit' && { onUndetermined }),
    ...(Object.keys(consistency).length > 0 && { consistency }),
    ...(explain && { explain }),
    ...(proof && { proof: true, proofSeconds: proof.seconds, proofAlg: proof.alg }),
    ...(delivery.mode === 'poll' && { async: true }),
    ...(delivery.mode === 'webhook' && { callbackUrl: delivery.callbackUrl }),
    rules,
  };
}

const consistencyOf = ({ blockTag, minBlock, atBlock = {} }: Consistency): Record<string, unknown> => ({
  ...(blockTag !== 'latest' && { blockTag }),
  ...(Object.keys(minBlock).length > 0 && { minBlock }),
  ...(Object.keys(atBlock).length > 0 && { atBlock }),
});

/** In a shell's single quotes nothing is special but their end. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const KEY = `-H "x-api-key: $ROLECALL_API_KEY"`;

/**
 * A check as a command for a terminal. The key is a variable there.
 */
export const curlOfCheck = (url: string, json: string): string =>
  [`curl -s ${quoted(url)}`, KEY, `-H 'content-type: application/json'`, `-d ${quoted(json)}`].join(' ');

/** A poll as a command for a terminal, that waits for the result for some seconds. */
export const curlOfPoll = (url: string): string =>
  [`curl -s ${quoted(url)}`, KEY, `-H 'prefer: wait=5'`].join(' ');

/** The attempts of a webhook, as far as the steps need them. */
type Delivered = {
  readonly attempts: readonly { readonly at: string; readonly durationMs: number; readonly class: string }[];
};

/**
 * The steps that a check has reached, in order, each with the time from the acceptance until then,
 * in ms. A step without a known time is left out.
 *
 * @example
 * stepsOfCheck({ ...check, waitedMs: 2, durationMs: 12, storedMs: 14 }, undefined);
 * // accepted 0, started 2, evaluated 12, stored 14
 */
export function stepsOfCheck(check: LoggedCheck, delivery: Delivered | undefined) {
  const delivered = delivery?.attempts.find((attempt) => attempt.class === 'delivered');
  const times = [
    ['accepted', 0],
    ['started', check.waitedMs],
    ['evaluated', check.durationMs],
    ['stored', check.storedMs],
    ['delivered', delivered && Date.parse(delivered.at) + delivered.durationMs - check.acceptedAtMs],
  ] as const;
  return times.flatMap(([name, afterMs]) =>
    afterMs === undefined ? [] : [{ name, afterMs: Math.max(0, Math.round(afterMs)) }],
  );
}
