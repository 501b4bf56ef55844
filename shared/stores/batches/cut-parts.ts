import {
  checkRequestedBatch,
  PART_ENTRIES_MAX,
  PART_READS_MAX,
  PART_RESULT_BYTES_MAX,
} from '#shared/contracts/batches/batch.ts';

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

export type PartCutter<Entry, Part> = {
  readonly add: (entry: Entry, size: EntrySize) => void;
  /** Every part, in order; no entry may be added afterwards. */
  readonly end: () => readonly Part[];
};

/**
 * Cuts entries into parts: consecutive ones that are planned, read and stored together. A part ends where the next entry
 * would exceed a bound, so equal batches have equal parts.
 *
 * @param finish makes a part as soon as it is full: from its entries, and the index of the first one, from 0
 * @example
 * const cutter = cutParts(partBounds(Buffer.byteLength(JSON.stringify(rules))), (entries) => entries);
 * for (const entry of entries) cutter.add(entry, { reads: 3, resultBytes: 900, bytes: 60 });
 * cutter.end().length;
 */
export function cutParts<Entry, Part>(
  bounds: PartBounds,
  finish: (entries: readonly Entry[], firstIndex: number) => Part,
): PartCutter<Entry, Part> {
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
    add(entry, size) {
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
    end() {
      finishPart();
      return parts;
    },
  };
}
