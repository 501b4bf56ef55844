/** The goal of a row: a bound on its value, on its ratio to the alternative, or on its difference from it. */
export type Goal = {
  readonly of: 'value' | 'ratio' | 'difference';
  readonly min?: number;
  readonly max?: number;
};

/** One row of a benchmark: a figure, beside its alternative from the same run. */
export type Row = {
  readonly what: string;
  readonly measured: number;
  readonly unit: string;
  /** The alternative, in the same unit: measured in the same run, or published elsewhere if its name says so. */
  readonly against?: { readonly what: string; readonly measured: number };
  /** Printed beside the row with its verdict, never asserted. */
  readonly goal?: Goal;
};

/** The rows of one benchmark. */
export type Table = {
  readonly title: string;
  readonly rows: readonly Row[];
  /** Conditions that a reader needs to judge the figures: sizes, latencies, counts. */
  readonly notes?: readonly string[];
};
