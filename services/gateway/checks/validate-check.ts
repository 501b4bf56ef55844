import { BODY_FAULTS_MAX, type Fault, faultAt, type Judged, pointerOf } from '#shared/contracts/fault.ts';
import { needsMoreReads, READS_MAX } from '#shared/contracts/rules/count-reads.ts';
import { type RuleSet, referenceOf, rulesOf } from '#shared/contracts/rules/rule-set.ts';
import { digestOfRules } from '#shared/contracts/rules/rules-digest.ts';
import { type CallbackPolicy, judgeCallbackUrl } from '#shared/contracts/webhooks/judge-callback-url.ts';
import type { RuleBody } from '#shared/rules/rule-body.ts';
import { RULES_MAX, RULES_MAX_ENTERPRISE } from '#shared/rules/rule-body.ts';
import { membersOf, validateBody } from '#shared/rules/validate-body.ts';
import {
  type ChainIds,
  chainsOf,
  isObject,
  type PlacedRules,
  sumsOverChains,
} from '#shared/rules/validate-rules.ts';
import { type SoundSignIn, signInRequestOf, validateSignIn } from '../sign-in/validate-sign-in.ts';
import { canonicalOf, isAsyncOf, placesOf, proofOf } from './canonical-check.ts';
import { CheckBody } from './check-body.ts';

/** A check that is valid, with every default filled in. */
export type ValidCheck = Readonly<ReturnType<typeof complete>>;

export type ValidationRules = {
  readonly isEnterprise: boolean;
  readonly chainIds: ChainIds;
  readonly callback: CallbackPolicy;
  /** Whether verdicts are signed here. */
  readonly signsVerdicts: boolean;
  /** The rule set that the body names by `ruleSet`, if there is one; `unread`: the body is judged
   * without it. */
  readonly stored?: RuleSet | 'unread' | undefined;
};

/** A body that its schema accepts, and that has wallets and rules. */
type CompleteBody = CheckBody & { readonly rules: RuleBody[] };

/** A body without faults, apart from the settings that may have changed since it was sent. */
export type SentCheck = Pick<ValidCheck, 'isAsync' | 'canonical'>;

/**
 * Validates the body of a check and lists every fault by JSON pointer.
 *
 * @param body the result of `JSON.parse`
 * @example
 * validateCheck({ account: '0x…', rules: [] }, rules); // { ok: false, faults: [{ pointer: '/rules', … }] }
 */
export function validateCheck(body: unknown, rules: ValidationRules): Judged<ValidCheck> {
  const { faults, parsed, href, stored, signIns } = judgeBody(body, rules);
  if (faults.length === 0 && parsed) {
    const check = complete(parsed as CompleteBody, href, stored, signIns);
    const readsMax = READS_MAX[check.isAsync ? 'bulk' : 'interactive'];
    if (!needsMoreReads(check, check.rules, readsMax)) return { ok: true, value: check };
    const detail = `needs more than ${readsMax} reads after deduplication; split it into several checks`;
    faults.push(faultAt('/rules', 'too-many-reads', detail));
  }
  const reported = stored ? faults.map(asFaultOfRuleSet) : faults;
  return { ok: false, faults: reported.slice(0, BODY_FAULTS_MAX) };
}

/**
 * Validates a refused body without its rule set, the app's tier, the configured chains and the
 * proof keys, which may all have changed since the body was accepted. Returns undefined if the body
 * has another fault.
 */
export function asSent(
  body: unknown,
  { callback }: Pick<ValidationRules, 'callback'>,
): SentCheck | undefined {
  const { faults, parsed, href } = judgeBody(body, {
    isEnterprise: true,
    chainIds: undefined,
    callback,
    signsVerdicts: true,
    stored: 'unread',
  });
  if (faults.length > 0 || !parsed) return undefined;
  return {
    isAsync: isAsyncOf(parsed),
    canonical: () => canonicalOf(parsed, href),
  };
}

function judgeBody(body: unknown, rules: ValidationRules) {
  const isFromSet = membersOf(body)['rules'] === undefined;
  const stored = isFromSet && rules.stored !== 'unread' ? rules.stored : undefined;
  // A stored rule set replaces the rules here, so that both are validated by the same bounds.
  const withRules = stored ? { ...membersOf(body), rules: stored.rules } : body;
  const tooLong = faultsOfLongBlocks(body);
  const full = tooLong.length > 0 ? { ...membersOf(withRules), consistency: {} } : withRules;
  const bounds = { rulesMax: rulesMaxOf(body, rules), chainIds: rules.chainIds };
  const { faults: found, broken, placed, parsed } = validateBody(CheckBody, full, bounds);
  const callback = callbackOf(body, broken, rules.callback);
  const signIn = validateSignIn(body, broken, rules.chainIds);
  const faults = [
    ...tooLong,
    ...found,
    ...faultsOfWallets(body, broken),
    ...faultsOfRuleSource(body, rules),
    ...(callback && 'fault' in callback ? [callback.fault] : []),
    ...faultsOfBlocks(full, isFromSet && !stored ? undefined : placed, broken),
    ...faultsOfProof(body, rules),
    ...signIn.faults,
  ];
  const href = callback && 'href' in callback ? callback.href : undefined;
  return { faults, parsed, href, stored, signIns: signIn.signIns };
}

/** The rules of a stored set are not in the body: their faults have the pointer of the member that
 * names the set. */
const asFaultOfRuleSet = (found: Fault): Fault =>
  /^\/rules(\/|$)/.test(found.pointer)
    ? faultAt('/ruleSet', found.code, `has a rule set whose ${found.detail.replace(/\.$/, '')}`)
    : found;

/** A sentence as the second half of another one. */
const asClause = (sentence: string): string =>
  `${sentence.charAt(0).toLowerCase()}${sentence.slice(1).replace(/\.$/, '')}`;

function rulesMaxOf(body: unknown, { isEnterprise }: ValidationRules): number {
  const { async, callbackUrl } = membersOf(body);
  const isAsync = async === true || typeof callbackUrl === 'string';
  return isEnterprise && isAsync ? RULES_MAX_ENTERPRISE : RULES_MAX;
}

function callbackOf(body: unknown, broken: ReadonlySet<string>, policy: CallbackPolicy) {
  const { callbackUrl } = membersOf(body);
  if (typeof callbackUrl !== 'string' || broken.has('/callbackUrl')) return undefined;
  const judged = judgeCallbackUrl(callbackUrl, policy);
  if (!('fault' in judged)) return judged;
  const { code, detail } = judged.fault;
  // The detail is a whole sentence, because the portal shows it too.
  return { fault: faultAt('/callbackUrl', code, `is refused: ${asClause(detail)}`) };
}

/**
 * Exactly one of `account` and `accounts`, the latter without repetition.
 *
 * @param place the pointer of the object that has the wallets
 */
export function faultsOfWallets(body: unknown, broken: ReadonlySet<string>, place = ''): Fault[] {
  if (!isObject(body)) return [];
  const { accounts } = body;
  if (!('account' in body) && !('accounts' in body))
    return [faultAt(`${place}/account`, 'required', 'is required unless accounts is sent')];
  const faults =
    'account' in body && 'accounts' in body
      ? [faultAt(`${place}/accounts`, 'not-allowed', 'is not allowed beside account; send one of the two')]
      : [];
  if (!Array.isArray(accounts) || broken.has(`${place}/accounts`)) return faults;
  const first = new Map<string, number>();
  for (const [index, account] of accounts.entries()) {
    const pointer = `${place}/accounts/${index}`;
    if (typeof account !== 'string' || broken.has(pointer)) continue;
    const earlier = first.get(account.toLowerCase());
    if (earlier === undefined) first.set(account.toLowerCase(), index);
    else
      faults.push(
        faultAt(pointer, 'repeated', `repeats ${place}/accounts/${earlier}; list each wallet once`),
      );
  }
  return faults;
}

/** Exactly one of `rules` and `ruleSet`, the latter known. */
function faultsOfRuleSource(body: unknown, { stored }: Pick<ValidationRules, 'stored'>): Fault[] {
  if (!isObject(body)) return [];
  if (!('ruleSet' in body))
    return 'rules' in body ? [] : [faultAt('/rules', 'required', 'is required unless ruleSet is sent')];
  if ('rules' in body)
    return [faultAt('/ruleSet', 'not-allowed', 'is not allowed beside rules; send one of the two')];
  return stored || typeof body['ruleSet'] !== 'string'
    ? []
    : [faultAt('/ruleSet', 'rule-set-unknown', 'names a rule set that does not exist')];
}

const BLOCK_MEMBERS = ['minBlock', 'atBlock'] as const;

/** More chains than a check has rules: nothing else is said of `consistency` then, whatever it
 * holds. */
function faultsOfLongBlocks(body: unknown): Fault[] {
  const consistency = membersOf(membersOf(body)['consistency']);
  return BLOCK_MEMBERS.filter(
    (member) => Object.keys(membersOf(consistency[member])).length > RULES_MAX_ENTERPRISE,
  ).map((member) =>
    faultAt(`/consistency/${member}`, 'too-many', `must name at most ${RULES_MAX_ENTERPRISE} chains`),
  );
}

/**
 * `minBlock` and `atBlock` may name only chains that a rule names, and not the same one. (This also
 * finds `__proto__`, which a zod record ignores.)
 */
function faultsOfBlocks(
  body: unknown,
  placed: PlacedRules | undefined,
  broken: ReadonlySet<string>,
): Fault[] {
  const consistency = membersOf(membersOf(body)['consistency']);
  // Rules beyond the bounds are not looked at: their chains are not known.
  const known = placed && !placed.hasTooMany && placed.tooDeep.length === 0 ? placed : undefined;
  const chains = known && chainsOf(known);
  const { blockTag, minBlock, atBlock } = consistency;
  const unnamed = BLOCK_MEMBERS.flatMap((member) =>
    Object.keys(membersOf(consistency[member]))
      .map((chainId) => ({ chainId, pointer: pointerOf(['consistency', member, chainId]) }))
      .filter(({ chainId, pointer }) => chains?.has(chainId) === false && !broken.has(pointer))
      .map(({ pointer }) => faultAt(pointer, 'chain-not-in-rules', 'names a chain that no rule names')),
  );
  const both = Object.keys(membersOf(atBlock))
    .filter((chainId) => Object.hasOwn(membersOf(minBlock), chainId))
    .map((chainId) =>
      faultAt(
        pointerOf(['consistency', 'atBlock', chainId]),
        'not-allowed',
        'is not allowed beside minBlock of the same chain; send one of the two',
      ),
    );
  const isTagged = blockTag !== undefined && Object.keys(membersOf(atBlock)).length > 0;
  const atChains = new Set(Object.keys(membersOf(atBlock)));
  const torn = (known ? sumsOverChains(known) : []).find(
    ({ chains: ofSum }) => !ofSum.isDisjointFrom(atChains) && !ofSum.isSubsetOf(atChains),
  );
  return [
    ...unnamed,
    ...both,
    ...(isTagged
      ? [
          faultAt(
            '/consistency/atBlock',
            'not-allowed',
            'is not allowed beside blockTag; send one of the two',
          ),
        ]
      : []),
    ...(torn ? [asTornSum(torn.pointer, [...torn.chains.difference(atChains)])] : []),
  ];
}

/** A sum over several chains is read at one instant, or at the block that each of them names. */
const asTornSum = (sum: string, missing: readonly string[]): Fault =>
  faultAt(
    '/consistency/atBlock',
    'required',
    `must name all chains of the sum ${sum}, or none of them: ${missing.join(', ')} is missing`,
  );

const PROOF_OPTIONS = ['proofSeconds', 'proofAlg'] as const;

/** A proof needs a key; without a proof its validity and its algorithm have no meaning. */
function faultsOfProof(body: unknown, { signsVerdicts }: Pick<ValidationRules, 'signsVerdicts'>): Fault[] {
  const { proof } = membersOf(body);
  if (proof === true && !signsVerdicts)
    return [faultAt('/proof', 'proof-unavailable', 'is refused: this service signs no verdicts')];
  if (proof !== undefined && proof !== false) return [];
  return PROOF_OPTIONS.filter((name) => membersOf(body)[name] !== undefined).map((name) =>
    faultAt(`/${name}`, 'not-allowed', 'is allowed only beside "proof": true'),
  );
}

function complete(
  body: CompleteBody,
  callbackUrl: string | undefined,
  stored: RuleSet | undefined,
  signIns: readonly SoundSignIn[] = [],
) {
  const { account, accounts, explain = false } = body;
  const onUndetermined = body.onUndetermined ?? stored?.onUndetermined ?? 'omit';
  const request = signInRequestOf(signIns, body);
  return {
    /** The only wallet, or the first of `accounts`. */
    account: account ?? accounts?.[0] ?? '',
    accounts,
    ...placesOf(body),
    rules: rulesOf(body),
    /** Where the rules came from, if not from the body. */
    ruleSet: stored && referenceOf(stored),
    callbackUrl,
    isAsync: isAsyncOf(body),
    onUndetermined,
    explain,
    proof: proofOf(body),
    signIn: request && { request, messages: signIns.map(({ message }) => message) },
    /** Text that is equal for two bodies with equal validated values, whatever the order of their
     * members. */
    canonical: () => canonicalOf(body, callbackUrl),
    /** Of the rules as they were sent, with the `onUndetermined` in effect. */
    rulesDigest: () => digestOfRules(body.rules, onUndetermined),
  };
}
