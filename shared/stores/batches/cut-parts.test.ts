import fc from 'fast-check';
import { cutParts, type EntrySize } from './cut-parts.ts';

const BOUNDS = { entriesMax: 5, readsMax: 20, resultBytesMax: 1_000, entriesBytesMax: 400 };
const anEntry = (ref: string) => ({ account: '0x52908400098527886e0f7030069857d2e4169ee7', ref });

const partOf = (texts: readonly string[], firstIndex: number) => ({
  firstIndex,
  entryCount: texts.length,
  entriesJson: Buffer.from(`[${texts.join(',')}]`),
});
type Part = ReturnType<typeof partOf>;

function cut(entries: readonly (readonly [ref: string, size: Omit<EntrySize, 'bytes'>])[]): readonly Part[] {
  const cutter = cutParts(BOUNDS, partOf);
  for (const [ref, size] of entries) {
    const text = JSON.stringify(anEntry(ref));
    cutter.add(text, { ...size, bytes: Buffer.byteLength(text) });
  }
  return cutter.end();
}

const entries = fc.array(
  fc.tuple(
    fc.string({ maxLength: 60 }),
    fc.record({ reads: fc.integer({ min: 1, max: 30 }), resultBytes: fc.integer({ min: 1, max: 1_500 }) }),
  ),
  { maxLength: 60 },
);
const refsOf = (part: Part): string[] =>
  (JSON.parse(part.entriesJson.toString()) as { ref: string }[]).map(({ ref }) => ref);

describe('the parts of a batch', () => {
  it('hold every entry once, in order, and are the same whenever they are cut', () => {
    fc.assert(
      fc.property(entries, (list) => {
        const parts = cut(list);
        expect(parts.flatMap(refsOf)).toEqual(list.map(([ref]) => ref));
        let next = 0;
        for (const { firstIndex, entryCount } of parts) {
          expect(firstIndex).toBe(next);
          next += entryCount;
        }
        expect(cut(list)).toEqual(parts);
      }),
    );
  });

  it('keep every bound, unless one entry alone exceeds it', () => {
    fc.assert(
      fc.property(entries, (list) => {
        for (const { firstIndex, entryCount, entriesJson } of cut(list)) {
          if (entryCount === 1) continue;
          const sizes = list.slice(firstIndex, firstIndex + entryCount).map(([, size]) => size);
          expect(entryCount).toBeLessThanOrEqual(BOUNDS.entriesMax);
          expect(sizes.reduce((sum, { reads }) => sum + reads, 0)).toBeLessThanOrEqual(BOUNDS.readsMax);
          expect(sizes.reduce((sum, { resultBytes }) => sum + resultBytes, 0)).toBeLessThanOrEqual(
            BOUNDS.resultBytesMax,
          );
          expect(entriesJson.length).toBeLessThanOrEqual(BOUNDS.entriesBytesMax + 2);
        }
      }),
    );
  });

  it('are as few as the bounds allow', () => {
    const list = Array.from({ length: 11 }, () => ['', { reads: 1, resultBytes: 1 }] as const);
    expect(cut(list).map(({ entryCount }) => entryCount)).toEqual([5, 5, 1]);
  });
});
