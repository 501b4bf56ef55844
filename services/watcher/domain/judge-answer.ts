import type { RuleFault } from '#shared/contracts/checks/result.ts';
import type { SeenBlock, WatchMember } from '#shared/contracts/watches/watch.ts';
import type { CheckCause, EndpointNames, Transfer } from '#shared/contracts/watches/watch-check.ts';

/** A block number is false if the chain makes a lower block so long after it was seen or owed. */
export const FALSE_BLOCK_MS_MIN = 600_000;

/** A block that a check has read; `madeAt` is its time, epoch ms of the chain. */
export type ReadBlock = SeenBlock & { readonly madeAt?: number | undefined };

/** The findings of one check about a member. */
export type Answer = {
  /** Under which stamp it was requested. */
  readonly walletsAt: string;
  readonly rules: string;
  readonly cause: CheckCause;
  /** By chain id, the least block that it had to read. */
  readonly owed: Readonly<Record<string, number>>;
  readonly transfer?: Transfer | undefined;
  readonly sweep?: number | undefined;
  /** What it could not read is left to the next sweep. */
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

/** What holds for a watch when an answer is judged. */
export type Present = {
  /** Its rules and block tag; `undefined`: it has none. */
  readonly rules: string | undefined;
  /** By chain id, the last reorgs. */
  readonly forks: Readonly<Record<string, readonly Fork[]>>;
};

/** What an answer is worth: README.md, "The life of a member". */
export type Judgement = 'applied' | 'dropped' | 'owed';

/** Judges an answer by what its member has seen. */
export function judgeAnswer(member: WatchMember, answer: Answer, present: Present): Judgement {
  if (answer.walletsAt !== member.walletsAt) return 'dropped';
  if (answer.rules !== present.rules) return answer.sweep === undefined ? 'owed' : 'dropped';
  const isVoid = Object.entries(answer.read).some(([chainId, read]) => {
    if (isDropped(read, present.forks[chainId])) return true;
    const seen = seenBlock(member, chainId, answer, present);
    if (seen === undefined) return false;
    // A head time ahead of the evaluation comes from a clock that was stepped.
    const isKnown = seen.askedAt <= Date.parse(answer.evaluatedAt);
    return read.block < seen.block || (isKnown && read.askedAt < seen.askedAt);
  });
  if (!isVoid) return 'applied';
  const isOwed = member.owed !== undefined || hasUnseen(member, answer, present);
  return isOwed || differs(member, answer) ? 'owed' : 'dropped';
}

/** The block that a member has seen, as far as it counts for an answer under the present stamp. */
function seenBlock(
  { seen, stamp }: WatchMember,
  chainId: string,
  { read, rules }: Pick<Answer, 'read' | 'rules'>,
  { forks }: Present,
): SeenBlock | undefined {
  const block = seen[chainId];
  if (block === undefined || isDropped(block, forks[chainId])) return undefined;
  if (blockTagOf(stamp?.rules) !== blockTagOf(rules)) return undefined;
  const isFalse =
    (read[chainId]?.block ?? block.block) < block.block && provesFalse(read[chainId], block.askedAt);
  return isFalse ? undefined : block;
}

/** Whether the chain has made this block so late that a higher number, known since then, is
 * false. */
export const provesFalse = (read: ReadBlock | undefined, knownAt: number): boolean =>
  (read?.madeAt ?? 0) - knownAt >= FALSE_BLOCK_MS_MIN;

const isDropped = ({ block, askedAt }: SeenBlock, forks: readonly Fork[] = []): boolean =>
  forks.some(({ from, knownAt }) => block >= from && askedAt < knownAt);

const differs = ({ roles }: WatchMember, { verdicts }: Answer): boolean =>
  [...verdicts].some(
    ([id, verdict]) => verdict !== undefined && verdict !== roles.find((role) => role.id === id)?.granted,
  );

/** Whether a check has to read a block that the member has not seen. */
export const hasUnseen = (
  member: WatchMember,
  answer: Pick<Answer, 'owed' | 'read' | 'rules'>,
  present: Present,
): boolean =>
  Object.entries(answer.owed).some(
    ([chainId, block]) => (seenBlock(member, chainId, answer, present)?.block ?? -1) < block,
  );

/** The block tag of a stamp's rules; see `rulesStampOf`. */
const blockTagOf = (rules: string | undefined): string | undefined => rules?.split(' ')[1];
