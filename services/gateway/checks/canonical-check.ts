import { canonicalize } from 'json-canonicalize';
import { canonicalRule } from './canonical-rule.ts';
import type { CheckBody } from './check-body.ts';

/** How long a signed verdict is valid if the request does not say. */
const PROOF_SECONDS = { sync: 300, async: 3_600 } as const;

export const isAsyncOf = ({ async, callbackUrl }: CheckBody): boolean =>
  async === true || callbackUrl !== undefined;

const lowerCase = (wallets: readonly string[] | undefined) =>
  wallets?.map((wallet) => wallet.toLowerCase()) ?? null;

export const proofOf = (body: CheckBody) =>
  body.proof === true
    ? {
        seconds: body.proofSeconds ?? PROOF_SECONDS[isAsyncOf(body) ? 'async' : 'sync'],
        alg: body.proofAlg ?? 'EdDSA',
      }
    : undefined;

/** The wallets and blocks that a body names, with their defaults. */
export function placesOf(body: CheckBody) {
  const { blockTag = 'latest', minBlock = {}, atBlock = {} } = body.consistency ?? {};
  const hasAtBlock = Object.keys(atBlock).length > 0;
  return {
    vaults: body.vaults?.length === 0 ? undefined : body.vaults,
    consistency: {
      blockTag,
      minBlock,
      atBlock: hasAtBlock ? atBlock : undefined,
    },
  };
}

/** Text of the body alone: a retry is the same check even if its rule set has changed since. */
export function canonicalOf(body: CheckBody, callbackUrl: string | undefined): string {
  const { account, accounts, rules = [], ruleSet, explain = false } = body;
  const { vaults, consistency } = placesOf(body);
  return canonicalize([
    account?.toLowerCase() ?? lowerCase(accounts),
    ruleSet ?? rules.map(canonicalRule),
    [callbackUrl ?? null, isAsyncOf(body)],
    body.onUndetermined ?? (ruleSet === undefined ? 'omit' : null),
    consistency,
    [lowerCase(vaults), explain, proofOf(body) ?? null],
    body.signIn?.map(({ message, signature }) => [message, signature.toLowerCase()]) ?? null,
  ]);
}
