import type { RuleFault } from '#shared/contracts/checks/result.ts';
import type { RuleSet } from '#shared/contracts/rules/rule-set.ts';
import type { SeenBlock, Watch, WatchMember } from '#shared/contracts/watches/watch.ts';
import type { EndpointNames, Why } from '#shared/contracts/watches/watch-check.ts';

/** A block that a check has read; `madeAt` is its time, epoch ms of the chain. */
export type ReadBlock = SeenBlock & { readonly madeAt?: number | undefined };

export type Answer = {
  /** Under which stamp it was requested. */
  readonly walletsAt: string;
  readonly rules: string;
  readonly why: Why;
  /** By chain id, the least block that it had to read. */
  readonly owed: Readonly<Record<string, number>>;
  readonly sweep?: number | undefined;
  /** Unread chains are left to the next sweep. */
  readonly forgives?: boolean | undefined;
  /** Every role of the rule set, in its order; `undefined`: could not be read. */
  readonly verdicts: ReadonlyMap<string, boolean | undefined>;
  /** By chain id. */
  readonly read: Readonly<Record<string, ReadBlock>>;
  readonly answeredBy?: EndpointNames | undefined;
  readonly errors: readonly RuleFault[];
  readonly evaluatedAt: string;
};

/** A reorg: the first dropped block, and when it was known, epoch ms. */
export type Fork = { readonly from: number; readonly knownAt: number };

export type Present = {
  /** Its rules and block tag; `undefined`: it has none. */
  readonly rules: string | undefined;
  /** By chain id, the last reorgs. */
  readonly forks: Readonly<Record<string, readonly Fork[]>>;
  /** By id of a followed chain, the block that following has reached. */
  readonly reached?: Readonly<Record<string, number>> | undefined;
};

/** Behind `sha-256=:`: 96 bits of the digest, which tell the rules of one client app apart. */
const DIGEST = { from: 9, to: 25 } as const;

/** The rules that a check is made by, and its block tag: `vip#<digest> safe`. */
export const rulesStampOf = (
  { id, digest }: Pick<RuleSet, 'id' | 'digest'>,
  { blockTag }: Pick<Watch, 'blockTag'>,
): string => `${id}#${digest.slice(DIGEST.from, DIGEST.to)} ${blockTag}`;

export const blockTagOf = (rules: string | undefined): string | undefined => rules?.split(' ')[1];

/** A block number is false if the chain makes a lower block so long after it was seen or owed. */
export const FALSE_BLOCK_MS_MIN = 600_000;

/** Judges an answer by what its member has seen: README.md, "The life of a member". */
export function judgeAnswer(
  member: WatchMember,
  answer: Answer,
  present: Present,
): 'applied' | 'dropped' | 'owed' {
  if (answer.walletsAt !== member.walletsAt) return 'dropped';
  if (answer.rules !== present.rules) return answer.sweep === undefined ? 'owed' : 'dropped';
  const isVoid = Object.entries(answer.read).some(([chainId, read]) => {
    if (isDropped(read, present.forks[chainId])) return true;
    const seen = seenBlock(member, chainId, present, read);
    if (seen === undefined) return false;
    // A head time ahead of the evaluation comes from a clock that was stepped.
    const isKnown = seen.askedAt <= Date.parse(answer.evaluatedAt);
    return read.block < seen.block || (isKnown && read.askedAt < seen.askedAt);
  });
  if (!isVoid) return 'applied';
  const differs = [...answer.verdicts].some(
    ([id, verdict]) =>
      verdict !== undefined && verdict !== member.roles.find((role) => role.id === id)?.granted,
  );
  const isOwed = member.owed !== undefined || hasUnseen(member, answer.owed, present, answer.read);
  // Nothing else may ask again before what is held back, or was read by former rules, is decided on.
  const isUndecided =
    member.checked?.rules !== present.rules || member.roles.some(({ heldBack }) => heldBack !== undefined);
  return isOwed || differs || isUndecided ? 'owed' : 'dropped';
}

/**
 * Owed blocks as far as following has reached: it had reached each of them, so a higher one is of a
 * chain that began anew, or of a dropped fork. Transfers in the blocks that came instead are owed by
 * themselves.
 */
export const withinReach = (
  blocks: Answer['owed'],
  reached: Present['reached'] = {},
): Record<string, number> =>
  Object.fromEntries(
    Object.entries(blocks).map(([id, block]) => [id, Math.min(block, reached[id] ?? block)]),
  );

/** Whether there is a block, among those that a check has to read, that the member has not seen. */
export const hasUnseen = (
  member: WatchMember,
  owed: Answer['owed'],
  present: Present,
  read: Answer['read'] = {},
): boolean =>
  Object.entries(owed).some(
    ([chainId, block]) => (seenBlock(member, chainId, present, read[chainId])?.block ?? -1) < block,
  );

/** The block that a member has seen, as far as it counts under the present rules. */
function seenBlock(
  { checked }: WatchMember,
  chainId: string,
  { rules, forks }: Present,
  read: ReadBlock | undefined,
): SeenBlock | undefined {
  const seen = checked?.seen[chainId];
  if (seen === undefined || isDropped(seen, forks[chainId])) return undefined;
  if (blockTagOf(checked?.rules) !== blockTagOf(rules)) return undefined;
  return read && read.block < seen.block && provesFalse(read, seen.askedAt) ? undefined : seen;
}

/** Whether the chain has made this block so late that a higher number, known since then, is false. */
export const provesFalse = ({ madeAt = 0 }: ReadBlock, knownAt: number): boolean =>
  madeAt - knownAt >= FALSE_BLOCK_MS_MIN;

const isDropped = ({ block, askedAt }: SeenBlock, forks: readonly Fork[] = []): boolean =>
  forks.some(({ from, knownAt }) => block >= from && askedAt < knownAt);
