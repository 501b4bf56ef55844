import type { Panel } from '../support/figures/draw-panels.ts';

/** One point: its position on the x axis, and a value for each series. */
export type Point = { readonly x: number; readonly values: Readonly<Record<string, number>> };

/** How a cost grows. */
export type Curve = {
  readonly title: string;
  /** The growing quantity, and the measured one with its unit. */
  readonly xLabel: string;
  readonly yLabel: string;
  readonly points: readonly Point[];
  /** Further figures of the last point, each with its unit in the name. */
  readonly facts?: Readonly<Record<string, number>>;
  /** Notes for the reader, such as why the series ended early. */
  readonly note?: string;
};

/** A curve as a chart: x logarithmic, a line per series. */
export function panelOf({ title, xLabel, yLabel, points }: Curve): Panel {
  const names = [...new Set(points.flatMap(({ values }) => Object.keys(values)))];
  const lines = names.map((series) => ({
    series,
    points: points.flatMap(({ x, values }) => {
      const value = values[series];
      return value === undefined ? [] : [[x, value] as const];
    }),
  }));
  return { title, xLabel, yLabel, xScale: 'logarithmic', ticks: points.map(({ x }) => x), lines };
}
