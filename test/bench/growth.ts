import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawPanels } from '../support/figures/draw-panels.ts';
import { formatNumber } from '../support/figures/format-number.ts';
import { type Curve, panelOf } from './curve.ts';
import { growApps, growPartitions, growResults, growRules } from './grow.ts';
import { growMessages } from './grow-messages.ts';
import { describeRun, RESULTS_DIR } from './results.ts';
import type { Row, Table } from './row.ts';
import { benchScale } from './scale.ts';
import { formatTable } from './table.ts';

const GROWTH_FILE = join(RESULTS_DIR, 'growth.json');
const RULES = [1, 2, 5, 10, 20, 50, 100];
const APPS = [1, 10, 100, 1_000];
const PARTITIONS = [1, 2, 4, 8, 12, 24];
const RESULTS = [10_000, 100_000, 1_000_000];
const MESSAGES = [1_000_000, 3_000_000, 10_000_000];
/** What repeated measurements of the same differ by on a quiet machine. */
const FLAT = 1.2;

const CURVES: Readonly<Record<string, () => Promise<Curve>>> = {
  rules: () => growRules(RULES),
  apps: () => growApps(APPS),
  partitions: () => growPartitions(PARTITIONS),
  results: () => growResults(RESULTS),
  scale: async () => {
    const { table, curve } = await benchScale();
    console.log(formatTable(table));
    return curve;
  },
  messages: () => growMessages(MESSAGES),
};

type Growth = {
  readonly curves: Readonly<Record<string, Curve & { readonly at: string }>>;
};

/**
 * The curves that are named, or all: written as numbers and as a picture, each as soon as it is there. One that fails
 * leaves none.
 */
export async function benchGrowth(names: readonly string[]): Promise<void> {
  for (const [name, make] of Object.entries(CURVES)) {
    if (names.length > 0 && !names.includes(name)) continue;
    try {
      const curve = await make();
      console.log(formatCurve(curve));
      write(name, curve);
    } catch (error) {
      console.error(`\nbench growth: ${name} failed and is not drawn:`, error);
      process.exitCode = 1;
    }
  }
}

function write(name: string, curve: Curve): void {
  const known = { ...loadGrowth().curves, [name]: { at: new Date().toISOString(), ...curve } };
  const inOrder = Object.keys(CURVES).flatMap((each) => (known[each] ? [[each, known[each]]] : []));
  const growth = { ...describeRun(), curves: Object.fromEntries(inOrder) };
  writeFileSync(GROWTH_FILE, `${JSON.stringify(growth, null, 2)}\n`);
  redrawGrowth();
  console.log('  written to test/bench/results/growth.json and growth.svg');
}

const loadGrowth = (): Growth => JSON.parse(readFileSync(GROWTH_FILE, 'utf8')) as Growth;

/** The picture of the newest curves. */
export function drawGrowth(): string {
  const curves = Object.values(loadGrowth().curves);
  const title = `How the cost of a check grows: ${curves.map((curve) => curve.title).join(', ')}`;
  return drawPanels(title, curves.map(panelOf));
}

/** Draws the picture of the newest curves anew. */
export function redrawGrowth(): void {
  writeFileSync(join(RESULTS_DIR, 'growth.svg'), drawGrowth());
}

/** The ends of three curves, as rows: what grows with the work, and what must not. */
export async function benchGrowthEnds(): Promise<Table> {
  const rules = await growRules([1, 100]);
  const apps = await growApps([1, 1_000]);
  const results = await growResults([10_000, 1_000_000]);
  const row = ({ points, xLabel }: Curve, max: number): Row => {
    const [first, last] = [points[0], points.at(-1)];
    return {
      what: `CPU per check, ${last?.x} ${xLabel}`,
      measured: last?.values['all'] ?? Number.NaN,
      unit: 'ms',
      against: { what: String(first?.x), measured: first?.values['all'] ?? Number.NaN },
      goal: { of: 'ratio', max },
    };
  };
  return {
    title: 'growth-ends: CPU of all processes per check, as work grows',
    rows: [row(rules, 100), row(apps, FLAT), row(results, FLAT)],
    notes: [`sub-linear in rules: less than 100 × for 100 ×; flat in the others: at most ${FLAT} ×`],
  };
}

function formatCurve({ title, points, note }: Curve): string {
  const lines = points.map(
    ({ x, values }) =>
      `  ${String(x).padStart(9)}  ${Object.entries(values)
        .map(([name, value]) => `${name} ${formatNumber(value)}`)
        .join(', ')}`,
  );
  return ['', title, ...lines, ...(note ? [`  ${note}`] : [])].join('\n');
}
