import { createHash } from 'node:crypto';
import { type BatchEntry, ENTRY_READS_MAX } from '#shared/contracts/batches/batch.ts';
import { type Fault, faultAt, type Judged } from '#shared/contracts/fault.ts';
import { makeReadCounter } from '#shared/contracts/rules/count-reads.ts';
import { countRules } from '#shared/contracts/rules/rule.ts';
import { invalidBody, type Problem } from '#shared/http/problem.ts';
import { boundResults, cutParts, type PartCutter, partBounds } from '#shared/stores/batches/cut-parts.ts';
import type { SentCheck, ValidCheck } from '../checks/validate-check.ts';
import type { ReadMembers } from './preview-members.ts';
import { canonicalEntry, validateEntry } from './validate-entry.ts';

/** Faults that one answer lists. */
export const FAULTS_MAX = 100;
/** The rules of a batch as JSON, as they were sent, without blanks. */
const RULES_BYTES_MAX = 256 * 1024;
/** Entries times rules, those inside of composed rules counted too: the largest cost of judging a
 * batch. */
const JUDGEMENTS_MAX = 1_000_000;
/** The members of a previewed watch as entries, with their last verdicts. */
const PREVIEW_BYTES_MAX = 16 * 1024 * 1024;

/** Consecutive entries of a batch that are planned, read and stored together. */
export type Part = {
  /** Place of the first entry in the batch, from 0. */
  readonly firstIndex: number;
  readonly entryCount: number;
  /** The entries as JSON text: a list. As bytes, because a batch of 100 000 entries waits for its
   * end in memory. */
  readonly entriesJson: Buffer;
};

export type CollectedBatch = {
  /** The members that all entries share: a check without wallets. */
  readonly common: ValidCheck;
  readonly entryCount: number;
  readonly parts: readonly Part[];
  /** SHA-256 (hex) of the validated values; of a preview, without the members. */
  readonly bodyHash: string;
  /** Of a preview: SHA-256 (hex) of the members and their verdicts, as they were taken. */
  readonly previewDigest: string | undefined;
};

/** A refused batch whose body is valid: it may have been accepted earlier under its idempotency
 * key. */
export type RefusedBatch = Pick<CollectedBatch, 'entryCount' | 'bodyHash'> & { readonly refusal: Problem };

/** A preview before its members are read. */
type PreviewToAdmit = Pick<CollectedBatch, 'bodyHash'> & { readonly memberCount: number };

/**
 * Asks whether the limits would admit a preview, before its members are read: the reading is
 * charged to nobody if they would not.
 *
 * @returns why the members are not to be read, if an earlier request with its key may have been
 *   accepted
 * @throws Problem of the limit that refuses it
 */
export type AskLimits = (preview: PreviewToAdmit) => Promise<Problem | undefined>;

export type BatchCollector = ReturnType<typeof collectBatch>;

/** The measures of a batch's entries, once its rules are known. */
type Measures = {
  readonly common: ValidCheck;
  readonly ruleCount: number;
  readonly readsOf: ReturnType<typeof makeReadCounter>;
  readonly resultBytesOf: ReturnType<typeof boundResults>;
};

/**
 * Collects a batch as its body arrives: validates each entry, and cuts the entries into parts. A
 * body with faults is validated to its end, or to its hundredth fault, and not kept.
 *
 * Every method throws Problem: `validation-failed` with all faults, or `too-many-entries` at once.
 * That is the app's current bound, for a retry too, because it bounds the work.
 *
 * @param validateHead validates the members that a batch has in common with a check
 * @param asSent the head of a retry, as it was when the batch may have been accepted; absent
 *   without an idempotency key
 * @param askLimits of a preview
 * @param hold counts bytes that the batch keeps in memory and that its body did not have
 */
export function collectBatch({
  validateHead,
  asSent,
  readMembers,
  askLimits,
  hold,
  entriesMax,
}: {
  readonly validateHead: (head: unknown) => Promise<Judged<ValidCheck>>;
  readonly asSent?: ((head: unknown) => SentCheck | undefined) | undefined;
  readonly readMembers: ReadMembers;
  readonly askLimits: AskLimits;
  readonly hold: (bytes: number) => void;
  readonly entriesMax: number;
}) {
  const faults: Fault[] = [];
  /** Whether a fault is of the body itself: then no earlier request with this body was accepted. */
  let isInvalid = false;
  const hash = createHash('sha256').update('batch\n');
  let measures: Measures | undefined;
  /** Undefined once there is a fault: the entries are not kept then. */
  let cutter: PartCutter<string, Part> | undefined;
  let entryCount = 0;
  let previewDigest: string | undefined;
  let previewRefusal: Problem | undefined;

  const note = (found: readonly Fault[], mayHaveChanged = false): void => {
    faults.push(...found.slice(0, FAULTS_MAX - faults.length));
    cutter = undefined;
    if (!mayHaveChanged) isInvalid = true;
    if (isInvalid && faults.length === FAULTS_MAX) throw invalidBody(faults);
  };
  /** The rules may be those of a rule set, and the entries those of a watch: then others than those
   * of an earlier request. */
  const noteByStored = (fault: Fault): void => note([fault], asSent !== undefined);
  /** Returns the text of the entry. */
  const keep = (entry: BatchEntry, pointer: string): string | undefined => {
    if (!measures) return undefined;
    const reads = measures.readsOf(entry);
    if (reads > ENTRY_READS_MAX) noteByStored(tooManyReads(pointer));
    if (!cutter) return undefined;
    const text = JSON.stringify(entry);
    const bytes = Buffer.byteLength(text);
    cutter.add(text, { reads, bytes, resultBytes: measures.resultBytesOf(bytes) });
    return text;
  };

  return {
    /** Takes all members of the body but its entries. Before any entry. */
    async begin(head: unknown): Promise<void> {
      // First, so that rules beyond the bound cost no validation.
      const rulesBytes = bytesOfRules(rulesIn(head));
      if (rulesBytes > RULES_BYTES_MAX) return note([rulesTooLarge(rulesBytes)]);
      const validation = await validateHead(head);
      const sent = validation.ok ? validation.value : asSent?.(head);
      if (sent) hash.update(sent.canonical()).update('\n');
      if (!validation.ok) return note(validation.faults, sent !== undefined);
      measures = measure(validation.value);
      cutter = cutParts(partBounds(bytesOf(measures.common.rules)), partOf);
    },
    add(value: unknown) {
      const index = entryCount;
      entryCount += 1;
      if (entryCount > entriesMax) throw invalidBody([tooManyEntries(entriesMax)]);
      const validated = validateEntry(value, ['entries', index]);
      if (!validated.ok) return note(validated.faults);
      const { value: entry } = validated;
      if (!isInvalid) hash.update(canonicalEntry(entry)).update('\n');
      keep(entry, `/entries/${index}`);
    },
    /** Takes the members of a watch as the entries. After the head, instead of `add`. */
    async addMembers(watchId: unknown): Promise<void> {
      const taken = createHash('sha256');
      previewDigest = '';
      if (typeof watchId !== 'string') return note([NOT_A_WATCH]);
      hash.update(`watch ${JSON.stringify(watchId)}\n`);
      const { rules } = measures?.common ?? { rules: [] };
      const members = await readMembers(watchId, new Set(rules.map(({ roleId }) => roleId)));
      if (members === undefined) return noteByStored(WATCH_UNKNOWN);
      if (!cutter || !measures) return;
      const { count, pages } = members;
      if (count * measures.ruleCount > JUDGEMENTS_MAX)
        return noteByStored(batchTooLarge('/watch', measures.ruleCount));
      previewRefusal = await askLimits({ memberCount: count, bodyHash: hash.copy().digest('hex') });
      if (previewRefusal) {
        entryCount = count;
        cutter = undefined;
        return;
      }
      let bytes = 0;
      for await (const entries of pages) {
        let pageBytes = 0;
        for (const entry of entries) {
          entryCount += 1;
          const text = keep(entry, '/watch');
          if (text === undefined) return;
          taken.update(text).update('\n');
          pageBytes += Buffer.byteLength(text) + 1;
        }
        bytes += pageBytes;
        if (bytes > PREVIEW_BYTES_MAX) return noteByStored(PREVIEW_TOO_LARGE);
        hold(pageBytes);
      }
      if (entryCount === 0) noteByStored(NO_MEMBERS);
      previewDigest = taken.digest('hex');
    },
    refuse: (fault: Fault): void => note([fault]),
    end(): CollectedBatch | RefusedBatch {
      const isPreview = previewDigest !== undefined;
      const isNamed = isPreview || faults.some(({ pointer }) => pointer === '' || pointer === '/entries');
      if (entryCount === 0 && !isNamed) note([NO_ENTRIES]);
      if (measures && entryCount * measures.ruleCount > JUDGEMENTS_MAX)
        noteByStored(batchTooLarge(isPreview ? '/watch' : '/entries', measures.ruleCount));
      if (isInvalid) throw invalidBody(faults);
      const batch = { entryCount, bodyHash: hash.digest('hex'), previewDigest };
      if (!measures || !cutter) return { ...batch, refusal: previewRefusal ?? invalidBody(faults) };
      return { ...batch, common: measures.common, parts: cutter.end() };
    },
  };
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The bytes of rules as JSON; 0 if they nest too deep to be written as JSON. Validation refuses
 * those. */
function bytesOfRules(rules: unknown): number {
  try {
    return bytesOf(rules);
  } catch (error) {
    if (error instanceof RangeError) return 0;
    throw error;
  }
}

/** The rules in the head; none if it names a rule set, whose bytes are bounded when it is
 * stored. */
const rulesIn = (head: unknown): unknown => (head as { readonly rules?: unknown } | null)?.rules ?? [];

function measure(common: ValidCheck): Measures {
  return {
    common,
    ruleCount: countRules(common.rules),
    readsOf: makeReadCounter(common.rules, ENTRY_READS_MAX),
    resultBytesOf: boundResults({
      rules: common.rules,
      explain: common.explain,
      hasProof: common.proof !== undefined,
    }),
  };
}

const partOf = (texts: readonly string[], firstIndex: number): Part => ({
  firstIndex,
  entryCount: texts.length,
  entriesJson: Buffer.from(`[${texts.join(',')}]`),
});

const NO_ENTRIES = faultAt('/entries', 'too-short', 'must have at least one entry');
const NOT_A_WATCH = faultAt('/watch', 'wrong-type', 'must be the id of a watch as a string');
const WATCH_UNKNOWN = faultAt('/watch', 'watch-unknown', 'names a watch that does not exist');
const NO_MEMBERS = faultAt('/watch', 'too-short', 'names a watch without members');
const PREVIEW_TOO_LARGE = faultAt(
  '/watch',
  'batch-too-large',
  `has members of more than ${PREVIEW_BYTES_MAX} bytes as JSON with their last verdicts`,
);

const tooManyEntries = (max: number): Fault =>
  faultAt(
    '/entries',
    'too-many-entries',
    `must have at most ${max} entries in this tier; send several batches`,
  );

const tooManyReads = (pointer: string): Fault =>
  faultAt(
    pointer,
    'too-many-reads',
    `${pointer === '/watch' ? 'has a member that needs' : 'needs'} more than ${ENTRY_READS_MAX} reads with these rules; split the rules into several batches`,
  );

const batchTooLarge = (pointer: string, ruleCount: number): Fault =>
  faultAt(
    pointer,
    'batch-too-large',
    `times rules must be at most ${JUDGEMENTS_MAX}: with ${ruleCount} rules, ${Math.floor(JUDGEMENTS_MAX / ruleCount)} entries`,
  );

const rulesTooLarge = (bytes: number): Fault =>
  faultAt(
    '/rules',
    'batch-too-large',
    `have ${bytes} bytes as JSON; a batch may have at most ${RULES_BYTES_MAX}`,
  );
