import {
  checkRequestedBatch,
  PART_ENTRIES_MAX,
  PART_READS_MAX,
  PART_RESULT_BYTES_MAX,
} from '#shared/contracts/batches/batch.ts';
import { type Condition, isComposedRule, type Rule } from '#shared/contracts/rules/rule.ts';

/** The members of a part's message beside its entries and rules. */
const MESSAGE_BYTES = 16 * 1024;

/** The bounds of a part, which has at least one entry. */
type PartBounds = {
  readonly entriesMax: number;
  readonly readsMax: number;
  readonly resultBytesMax: number;
  /** Of the entries as JSON. */
  readonly entriesBytesMax: number;
};

/** The bounds of a part with rules of this many bytes as JSON. */
export const partBounds = (rulesBytes: number): PartBounds => ({
  entriesMax: PART_ENTRIES_MAX,
  readsMax: PART_READS_MAX,
  resultBytesMax: PART_RESULT_BYTES_MAX,
  entriesBytesMax: checkRequestedBatch.messageBytesMax - MESSAGE_BYTES - rulesBytes,
});

/** The size that an entry adds to its part; `bytes` are those of the entry as JSON. */
export type EntrySize = { readonly reads: number; readonly resultBytes: number; readonly bytes: number };

export type PartCutter<Entry, Part> = ReturnType<typeof cutParts<Entry, Part>>;

/**
 * Cuts entries into parts: consecutive ones that are planned, read and stored together. A part ends
 * where the next entry would exceed a bound, so equal batches have equal parts.
 *
 * @param finish makes a part as soon as it is full: from its entries, and the index of the first
 *   one, from 0
 * @example
 * const cutter = cutParts(partBounds(Buffer.byteLength(JSON.stringify(rules))), (entries) => entries);
 * for (const entry of entries) cutter.add(entry, { reads: 3, resultBytes: 900, bytes: 60 });
 * cutter.end().length;
 */
export function cutParts<Entry, Part>(
  bounds: PartBounds,
  finish: (entries: readonly Entry[], firstIndex: number) => Part,
) {
  const parts: Part[] = [];
  let entries: Entry[] = [];
  let [firstIndex, reads, resultBytes, bytes] = [0, 0, 0, 0];
  const finishPart = (): void => {
    if (entries.length === 0) return;
    parts.push(finish(entries, firstIndex));
    firstIndex += entries.length;
    entries = [];
    [reads, resultBytes, bytes] = [0, 0, 0];
  };
  return {
    add(entry: Entry, size: EntrySize): void {
      // With the comma after it.
      const ownBytes = size.bytes + 1;
      const isFull =
        entries.length >= bounds.entriesMax ||
        reads + size.reads > bounds.readsMax ||
        resultBytes + size.resultBytes > bounds.resultBytesMax ||
        bytes + ownBytes > bounds.entriesBytesMax;
      if (isFull) finishPart();
      entries.push(entry);
      reads += size.reads;
      resultBytes += size.resultBytes;
      bytes += ownBytes;
    },
    /** Every part, in order; no entry may be added afterwards. */
    end(): readonly Part[] {
      finishPart();
      return parts;
    },
  };
}

/** One entry of `errors`, or of `roles` and `errors`, without its role id: the longest message and
 * a path included. */
const RULE_BYTES = 520;
/** The members of a line beside its wallets, `ref`, `roles` and `errors`. */
const LINE_BYTES = 400;
/** What explains one rule, those inside of it apart, without the required texts: the longest amount
 * that a token with 255 decimals has, or a sum. */
const DETAIL_BYTES = 512;
/** Header, signature, blocks and the other claims of a signed verdict, encoded. */
const PROOF_BYTES = 1_500;
const BASE64_FACTOR = 4 / 3;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The bytes that explain a rule, and all rules or terms inside of it. */
function boundDetails(rule: Condition): number {
  if (isComposedRule(rule)) return DETAIL_BYTES + sumOf(rule.rules, boundDetails);
  if (rule.type === 'CONTRACT') return DETAIL_BYTES + bytesOf(rule.value ?? '');
  const terms = rule.type === 'SUM' ? rule.rules.length : 0;
  return (1 + terms) * DETAIL_BYTES + bytesOf([rule.minToken, rule.maxToken ?? '']);
}

const sumOf = <T>(list: readonly T[], measure: (one: T) => number): number =>
  list.reduce((sum, one) => sum + measure(one), 0);

/**
 * Bounds the bytes of an entry's line in the results: every rule with an error, under
 * `onUndetermined: "deny"` a verdict too, and what explains it if that is asked for.
 *
 * @returns the bound of an entry, by its own bytes as JSON
 * @example
 * const boundOf = boundResults({ rules, hasProof: false });
 * boundOf(56); // 1000 or so for one rule
 */
export function boundResults({
  rules,
  explain = false,
  hasProof,
}: {
  readonly rules: readonly Rule[];
  readonly explain?: boolean | undefined;
  readonly hasProof: boolean;
}): (entryBytes: number) => number {
  // A role id is in `roles` and in `errors`; in a signed verdict up to twice as well.
  const roleBytes = sumOf(rules, ({ roleId }) => 2 * bytesOf(roleId));
  const detailBytes = explain ? sumOf(rules, boundDetails) : 0;
  const rulesBytes = rules.length * RULE_BYTES + roleBytes + detailBytes;
  return (entryBytes) => {
    const proofBytes = hasProof ? PROOF_BYTES + BASE64_FACTOR * (2 * entryBytes + roleBytes) : 0;
    return LINE_BYTES + entryBytes + rulesBytes + proofBytes;
  };
}
