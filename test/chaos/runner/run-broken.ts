import { formatMarkdown } from '../../support/figures/format-markdown.ts';
import { BROKEN_VARIANTS, type BrokenVariant } from '../broken-variants.ts';
import { type RowResult, runRows } from './run-rows.ts';

/** Long enough for a row to break the promise. */
const SECONDS_MAX = 12;
/** Long enough for late results to arrive, so that only lost ones are missing. */
const DRAIN_MS = 25_000;

export type BrokenResult = {
  readonly name: string;
  readonly caughtAs: string;
  readonly isCaught: boolean;
  readonly row: RowResult;
};

type Options = Parameters<typeof runRows>[1];

/**
 * Runs broken variants, each on a system of its own.
 *
 * A variant is caught if its row reports the promise that the variant breaks; the row may report
 * others too.
 */
export async function runBroken(names: readonly string[], options: Options): Promise<BrokenResult[]> {
  const results: BrokenResult[] = [];
  for (const variant of chosen(names)) {
    options.say(`broken variant ${variant.name}, on ${variant.fault.id}`);
    const [row] = await runRows([variant.fault], {
      ...options,
      seconds: Math.min(SECONDS_MAX, options.seconds),
      drainMsMax: DRAIN_MS,
    });
    if (row) results.push(judge(variant, row));
  }
  return results;
}

function judge({ name, caughtAs }: BrokenVariant, row: RowResult): BrokenResult {
  const isCaught = 'broken' in row && (row.broken[caughtAs]?.length ?? 0) > 0;
  return { name, caughtAs, isCaught, row };
}

function chosen(names: readonly string[]): readonly BrokenVariant[] {
  if (names.includes('all')) return BROKEN_VARIANTS;
  return names.map((name) => {
    const found = BROKEN_VARIANTS.find((variant) => variant.name === name);
    const known = BROKEN_VARIANTS.map((variant) => variant.name).join(', ');
    if (!found) throw new Error(`unknown broken variant ${name}; known: ${known}`);
    return found;
  });
}

/** The variants of a run and whether each was caught, as Markdown. */
export const formatBroken = (results: readonly BrokenResult[]): string =>
  formatMarkdown(
    ['broken variant', 'row', 'found as', 'count', 'verdict'],
    results.map(({ name, caughtAs, isCaught, row }) => {
      const found = 'broken' in row ? (row.broken[caughtAs]?.length ?? 0) : 0;
      return [name, row.id, caughtAs, String(found), isCaught ? 'caught' : 'NOT CAUGHT'];
    }),
  );
