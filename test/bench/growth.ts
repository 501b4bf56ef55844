import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawPanels } from '../support/figures/draw-panels.ts';
import { formatNumber } from '../support/figures/format-number.ts';
import { type Curve, panelOf } from './curve.ts';
import { growApps, growPartitions, growResults, growRules } from './grow.ts';
import { growMembers } from './grow-members.ts';
import { growMessages } from './grow-messages.ts';
import { growChains, growRuleSets } from './grow-sets-and-chains.ts';
import { describeRun, RESULTS_DIR } from './results.ts';
import type { Row, Table } from './row.ts';
import { benchScale } from './scale.ts';
import { writeSizes } from './size-system.ts';
import { formatTable } from './table.ts';

const GROWTH_FILE = join(RESULTS_DIR, 'growth.json');
const RULES = [1, 2, 5, 10, 20, 50, 100];
const APPS = [1, 10, 100, 1_000, 10_000];
const RULE_SETS = [1, 10, 100, 1_000];
const CHAINS = [1, 3, 10];
const MEMBERS = [1_000, 10_000, 100_000];
const PARTITIONS = [1, 2, 4, 8, 12, 24];
const RESULTS = [10_000, 100_000, 1_000_000];
const MESSAGES = [1_000_000, 3_000_000, 10_000_000];
/** The spread of repeated measurements on a quiet machine. */
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
  'rule-sets': () => growRuleSets(RULE_SETS),
  chains: () => growChains(CHAINS),
  members: () => growMembers(MEMBERS),
};

type Growth = {
  readonly curves: Readonly<Record<string, Curve & { readonly at: string }>>;
};

/**
 * Measures the named curves, or all, and writes each as numbers and as a picture as soon as it is there. A failed curve
 * writes nothing.
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

export const loadGrowth = (): Growth => JSON.parse(readFileSync(GROWTH_FILE, 'utf8')) as Growth;

/** The picture of the newest curves. */
export function drawGrowth(): string {
  const curves = Object.values(loadGrowth().curves);
  const title = `How the cost of a check grows: ${curves.map((curve) => curve.title).join(', ')}`;
  return drawPanels(title, curves.map(panelOf));
}

/** Redraws the picture of the newest curves, and computes the sizes from them. */
export function redrawGrowth(): void {
  writeFileSync(join(RESULTS_DIR, 'growth.svg'), drawGrowth());
  writeSizes(loadGrowth().curves);
}

/** The ends of three curves, as rows: the costs that may grow with the work, and those that must not. */
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
