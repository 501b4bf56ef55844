import { ACCOUNT } from './abi-type.ts';
import { ZERO_ADDRESS } from './address.ts';
import { type Condition, isComposedRule, type SumTerm, type TokenAmount, type ViewCall } from './rule.ts';
import { parseTokenIds, TOKEN_IDS_MAX } from './token-ids.ts';
import { encodeCall, findOutput, parseViewFunction } from './view-function.ts';

/** Most reads a check may plan after deduplication: one a balance or an owner, `decimals()` not
 * counted. */
export const READS_MAX = { interactive: 2_000, bulk: 10_000 } as const;

const NO_WALLETS: readonly string[] = [];

export type WalletGroup = {
  readonly account: string;
  readonly accounts?: readonly string[] | undefined;
  readonly vaults?: readonly string[] | undefined;
};

/**
 * The wallets of a person, each once and in lower case. A vault that is an account too counts as an
 * account, so its delegation is not read.
 *
 * @example
 * distinctWallets({ account: '0xAB…', vaults: ['0xab…', '0xcd…'] }); // { accounts: ['0xab…'], vaults: ['0xcd…'] }
 */
export function distinctWallets({ account, accounts, vaults }: WalletGroup): {
  readonly accounts: readonly string[];
  readonly vaults: readonly string[];
} {
  if (accounts === undefined && vaults === undefined)
    return { accounts: [account.toLowerCase()], vaults: NO_WALLETS };
  const lowerCase = (wallets: readonly string[]) => new Set(wallets.map((wallet) => wallet.toLowerCase()));
  const own = lowerCase(accounts ?? [account]);
  return {
    accounts: [...own],
    vaults: [...lowerCase(vaults ?? NO_WALLETS)].filter((vault) => !own.has(vault)),
  };
}

/**
 * How often a read is made: `once` whatever the wallets are, for each `wallet` (vaults too), or for
 * each `delegation` that a vault may have given to an account.
 */
type Times = 'once' | 'wallet' | 'delegation';

/** The read of one token id. */
const READ_OF_AN_ID: Readonly<Record<'ERC721' | 'ERC1155', readonly [key: string, times: Times]>> = {
  ERC721: ['owner', 'once'],
  ERC1155: ['balance', 'wallet'],
};

/** What is read: a holding, or a call. The call of a sum that is the same for all wallets counts
 * once, so no vault is asked whether it has delegated. */
type Target =
  | TokenAmount
  | (ViewCall & { readonly type: 'CONTRACT'; readonly chainId: number; readonly isOfSum?: true });

/** The targets inside of a rule, in the order in which the client wrote them. */
function targetsOf(rule: Condition): Target[] {
  if (rule.type === 'SUM') return rule.rules.flatMap(targetsOfTerm);
  return isComposedRule(rule) ? rule.rules.flatMap(targetsOf) : [rule];
}

function targetsOfTerm({ times, per, ...term }: SumTerm): Target[] {
  const call = (weight: typeof times): Target[] =>
    typeof weight === 'object' ? [{ ...weight, type: 'CONTRACT', chainId: term.chainId, isOfSum: true }] : [];
  const own: Target = term.type === 'CONTRACT' ? { ...term, isOfSum: true } : term;
  return [own, ...call(times), ...call(per)];
}

/** The reads that a target needs: keys that are equal exactly where the reads are the same, but for
 * the wallets. */
function readsOf(target: Target): [key: string, times: Times][] {
  if (target.type === 'NATIVE')
    return [
      [`${target.chainId}/native`, 'wallet'],
      [`${target.chainId}/delegate-all`, 'delegation'],
    ];
  const at = `${target.chainId}/${target.contractAddress?.toLowerCase()}`;
  const asContract: [string, Times] = [`${at}/delegate-contract`, 'delegation'];
  if (target.type === 'CONTRACT') {
    const [call, times] = callOf(target);
    const read: [string, Times] = [`${at}/call/${times}/${call}`, times];
    return target.isOfSum && times === 'once' ? [read] : [read, asContract];
  }
  if (target.type === 'ERC20')
    return [
      [`${at}/balance`, 'wallet'],
      [`${at}/delegate-erc20`, 'delegation'],
    ];
  const ids = target.tokenId === undefined ? undefined : parseTokenIds(target.tokenId);
  if (!ids?.ok) return [[`${at}/balance`, 'wallet'], asContract];
  const [kind, times] = READ_OF_AN_ID[target.type];
  return ids.ids.flatMap((id): [string, Times][] => [
    [`${at}/${kind}/${id}`, times],
    [`${at}/delegate-${target.type.toLowerCase()}/${id}`, 'delegation'],
  ]);
}

/**
 * A call is known by its calldata, the inputs that are the wallet, the number of words that it
 * returns, and the one that is read; a malformed one by its text. It is made for each wallet if an
 * address among its arguments is the wallet's.
 */
function callOf({ args = [], returns, ...call }: ViewCall): [key: string, times: Times] {
  const parsed = parseViewFunction(call.function);
  const encoded = parsed.ok ? encodeCall(parsed.fn, args, ZERO_ADDRESS) : parsed;
  if (!parsed.ok || !encoded.ok) return [JSON.stringify([call.function, args, returns]), 'wallet'];
  const { inputs, wordCount } = parsed.fn;
  const output = findOutput(parsed.fn, returns);
  // The calldata has zeros for the wallet, which another call may have as a literal.
  const ofWallet = inputs.flatMap(({ type }, index) =>
    type.kind === 'address' && args[index] === ACCOUNT ? [index] : [],
  );
  const key = `${encoded.calldata}/${ofWallet.join()}/${wordCount}/${output.ok ? output.word : returns}`;
  return [key, ofWallet.length > 0 ? 'wallet' : 'once'];
}

/**
 * How many reads the rules need for a person's wallets, once equal reads are counted once. The
 * evaluator plans exactly so many.
 *
 * @example
 * countReads({ account }, [{ type: 'ERC721', chainId: 1, contractAddress, tokenId: '1-3', minToken: '1' }]); // 3
 */
export const countReads = (wallets: WalletGroup, rules: readonly Condition[]): number =>
  makeReadCounter(rules)(wallets);

/**
 * `countReads` for many persons and the same rules.
 *
 * @param max where counting may stop, so that no list of ids costs more than is allowed: a greater
 *   count is only known to be greater
 */
export function makeReadCounter(
  rules: readonly Condition[],
  max = Number.POSITIVE_INFINITY,
): (wallets: WalletGroup) => number {
  const counted = new Set<string>();
  const counts = { once: 0, wallet: 0, delegation: 0 } satisfies Record<Times, number>;
  for (const target of distinct(rules.flatMap(targetsOf))) {
    for (const [key, times] of readsOf(target)) {
      if (!counted.has(key)) counts[times] += 1;
      counted.add(key);
    }
    // Every person has at least one wallet.
    if (counts.once + counts.wallet > max) break;
  }
  return (wallets) => {
    if (wallets.accounts === undefined && wallets.vaults === undefined) return counts.once + counts.wallet;
    const { accounts, vaults } = distinctWallets(wallets);
    return (
      counts.once +
      counts.wallet * (accounts.length + vaults.length) +
      counts.delegation * accounts.length * vaults.length
    );
  };
}

/**
 * How many reads the rules need at most, for many persons. No list of ids is expanded, so it costs
 * a fraction of counting; equal reads are found where several rules name the same token and ids.
 *
 * @example
 * makeReadBound([erc20, { ...erc20, minToken: '7' }])({ account }); // 1
 * makeReadBound([{ ...erc1155, tokenId: '1-9,5' }])({ account }); // 10
 */
export function makeReadBound(rules: readonly Condition[]): (wallets: WalletGroup) => number {
  const amounts = new Map<string, TokenAmount>();
  let calls = 0;
  for (const target of rules.flatMap(targetsOf)) {
    if (target.type === 'CONTRACT') calls += 1;
    else amounts.set(`${target.type} ${target.chainId} ${target.contractAddress} ${target.tokenId}`, target);
  }
  const counts = { once: 0, wallet: calls, delegation: calls } satisfies Record<Times, number>;
  for (const { type, tokenId } of amounts.values()) {
    const reads = tokenId === undefined ? 1 : boundIds(tokenId);
    counts[type === 'ERC721' && tokenId !== undefined ? 'once' : 'wallet'] += reads;
    counts.delegation += reads;
  }
  return ({ accounts, vaults }) => {
    const [own, others] = [accounts?.length ?? 1, vaults?.length ?? 0];
    return counts.once + counts.wallet * (own + others) + counts.delegation * own * others;
  };
}

/** How many ids a list has at most. */
function boundIds(tokenId: string): number {
  let count = 0;
  if (tokenId.includes('-'))
    for (const part of tokenId.split(',')) count += part.includes('-') ? boundRange(part) : 1;
  else for (let at = 0; at >= 0; at = tokenId.indexOf(',', at + 1)) count += 1;
  return Math.min(count, TOKEN_IDS_MAX);
}

function boundRange(range: string): number {
  const [first = Number.NaN, last = Number.NaN] = range.split('-').map(Number);
  const length = last - first + 1;
  // Larger numbers are not exact, and a malformed one is none.
  return Number.isSafeInteger(last) && length > 0 ? length : TOKEN_IDS_MAX;
}

/** Equal targets once, before their ids are expanded. */
const distinct = (targets: readonly Target[]): Target[] => [
  ...new Map(
    targets.map((target) => {
      const {
        minToken: _min,
        maxToken: _max,
        roleId: _role,
        ...read
      } = target as Target & {
        readonly [Name in 'minToken' | 'maxToken' | 'roleId']?: unknown;
      };
      return [JSON.stringify(read), target];
    }),
  ).values(),
];

export const needsMoreReads = (wallets: WalletGroup, rules: readonly Condition[], max: number): boolean =>
  makeReadBound(rules)(wallets) > max && makeReadCounter(rules, max)(wallets) > max;
