import {
  type BatchEntry,
  checkRequestedBatch,
  PART_ENTRIES_MAX,
  PART_READS_MAX,
  PART_RESULT_BYTES_MAX,
} from '#shared/contracts/batch.ts';

/** The members of a part's message beside its entries and rules. */
const MESSAGE_BYTES = 16 * 1024;

/** Consecutive entries of a batch that are planned, read and stored together. */
export type Part = {
  /** Place of the first entry in the batch, from 0. */
  readonly firstIndex: number;
  readonly entryCount: number;
  /** The entries as JSON text: a list. As bytes, because a batch of 100 000 entries waits for its end in memory. */
  readonly entriesJson: Buffer;
};

/** The bounds of a part, which has at least one entry. */
export type PartBounds = {
  readonly entriesMax: number;
  readonly readsMax: number;
  readonly resultBytesMax: number;
  /** Of the entries as JSON. */
  readonly entriesBytesMax: number;
};

/** The bounds of a part with rules of so many bytes as JSON. */
export const partBounds = (rulesBytes: number): PartBounds => ({
  entriesMax: PART_ENTRIES_MAX,
  readsMax: PART_READS_MAX,
  resultBytesMax: PART_RESULT_BYTES_MAX,
  entriesBytesMax: checkRequestedBatch.messageBytesMax - MESSAGE_BYTES - rulesBytes,
});

/** The size that an entry adds to its part. */
export type EntrySize = { readonly reads: number; readonly resultBytes: number };

export type PartCutter = {
  readonly add: (entry: BatchEntry, size: EntrySize) => void;
  /** Every part, in order; no entry may be added afterwards. */
  readonly end: () => readonly Part[];
};

/**
 * Cuts a batch into parts. A part ends where the next entry would exceed a bound, so equal batches have equal parts.
 *
 * @example
 * const cutter = cutParts(partBounds(Buffer.byteLength(JSON.stringify(rules))));
 * for (const entry of entries) cutter.add(entry, { reads: 3, resultBytes: 900 });
 * cutter.end().length;
 */
export function cutParts(bounds: PartBounds): PartCutter {
  const parts: Part[] = [];
  let texts: string[] = [];
  let [firstIndex, reads, resultBytes, bytes] = [0, 0, 0, 0];
  const finish = (): void => {
    if (texts.length === 0) return;
    parts.push({ firstIndex, entryCount: texts.length, entriesJson: Buffer.from(`[${texts.join(',')}]`) });
    firstIndex += texts.length;
    texts = [];
    [reads, resultBytes, bytes] = [0, 0, 0];
  };
  return {
    add(entry, size) {
      const text = JSON.stringify(entry);
      const textBytes = Buffer.byteLength(text) + 1;
      const isFull =
        texts.length >= bounds.entriesMax ||
        reads + size.reads > bounds.readsMax ||
        resultBytes + size.resultBytes > bounds.resultBytesMax ||
        bytes + textBytes > bounds.entriesBytesMax;
      if (isFull) finish();
      texts.push(text);
      reads += size.reads;
      resultBytes += size.resultBytes;
      bytes += textBytes;
    },
    end() {
      finish();
      return parts;
    },
  };
}
