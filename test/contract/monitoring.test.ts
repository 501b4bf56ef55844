import { UNDETERMINED } from '#shared/contracts/result.ts';
import { knownSeries } from '../support/metric-inventory.ts';
import { loadDashboardQueries, loadRules, readRuleTests, readRunbook } from '../support/monitoring-files.ts';
import { parseQuery } from '../support/promql.ts';

// Rules and dashboards against the code: they may only ask for what some process shows, by the labels it has.

const rules = loadRules();
const alerts = rules.flatMap(({ alert }) => alert ?? []);
const queries = [
  ...rules.map(({ record, alert, expr }) => ({ place: record ?? alert ?? '', expr })),
  ...loadDashboardQueries(),
];

/** Labels of recorded series: those that their expression is grouped by. */
const recorded = new Map(
  rules.flatMap(({ record, expr }) =>
    record ? [[record, new Set(parseQuery(expr).groupings)] as const] : [],
  ),
);
const series = new Map<string, ReadonlySet<string>>([...knownSeries(), ...recorded]);

test('there are rules and dashboards to look at', () => {
  expect(rules.length).toBeGreaterThan(50);
  expect(loadDashboardQueries().length).toBeGreaterThan(50);
});

test.each(queries)('$place asks only for series that exist, by labels that they have', ({ expr }) => {
  const { selectors, groupings } = parseQuery(expr);
  expect(selectors.length).toBeGreaterThan(0);
  for (const { name, labels } of selectors) {
    expect([...series.keys()]).toContain(name);
    for (const label of labels) expect([...(series.get(name) ?? [])]).toContain(label);
  }
  const known = new Set(selectors.flatMap(({ name }) => [...(series.get(name) ?? [])]));
  for (const label of groupings) expect([...known]).toContain(label);
});

test('every alert says how urgent it is, what happened, and where the runbook tells of it', () => {
  for (const { alert, labels, annotations } of rules.filter((rule) => rule.alert)) {
    expect(['page', 'ticket']).toContain(labels?.['severity']);
    expect(annotations?.['summary']).toMatch(/\.$/);
    expect(annotations?.['runbook']).toBe(`deploy/README.md#${alert?.toLowerCase()}`);
  }
});

test('the runbook has an entry for each alert, and no other', () => {
  const entries = [...readRunbook().matchAll(/^#### (\w+)$/gm)].map(([, name]) => name);
  expect([...entries].sort()).toEqual([...alerts].sort());
});

test('every entry of the runbook says what it means, what to look at and what to do', () => {
  for (const entry of readRunbook()
    .split(/^#### /m)
    .slice(1))
    for (const part of ['**Means**', '**Look at**', '**Do**']) expect(entry).toContain(part);
});

test('every alert is unit-tested: silent where it should be, and firing', () => {
  const tests = readRuleTests();
  for (const alert of alerts) {
    const asked = tests.matchAll(
      new RegExp(`alertname="${alert}"[^\\n]*\\n[^\\n]*\\n\\s*exp_samples: \\[\\{value: (\\d)`, 'g'),
    );
    const values = new Set([...asked].map(([, value]) => value === '0'));
    expect({ alert, values }).toEqual({ alert, values: new Set([true, false]) });
  }
});

test('the objective of decided rules counts every code that is ours to answer for', () => {
  const [rule] = rules.filter(({ record }) => record?.startsWith('rolecall:undecided'));
  const counted = /code=~"([^"]+)"/.exec(rule?.expr ?? '')?.[1]?.split('|') ?? [];
  // A block that is not there yet is the asker's wish; asking again may help all the same.
  const ours = Object.entries(UNDETERMINED).flatMap(([code, { retryable }]) =>
    retryable && code !== 'min-block-not-reached' ? [code] : [],
  );
  expect([...counted].sort()).toEqual([...ours].sort());
});
