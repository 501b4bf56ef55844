import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { UNDETERMINED } from '#shared/contracts/checks/result.ts';
import { SOURCE_TOPICS } from '#shared/contracts/topics.ts';
import { makeProgram } from '../../services/developer-portal/admin/program.ts';
import { firstScrapeOf, knownSeries, metricsOf, PROCESSES } from '../support/judges/metric-inventory.ts';
import {
  DEPLOY,
  loadDashboardQueries,
  loadDashboards,
  loadRules,
  type RuleFile,
  readRuleTests,
  readRunbook,
  readSources,
  runbookCommands,
} from '../support/judges/monitoring-files.ts';
import { parseQuery } from '../support/judges/promql.ts';

// Rules and dashboards against the code: they may only query series that some process exposes, by
// labels that it has.

const rules = loadRules();
const sources = readSources();
const alerts = rules.flatMap(({ alert }) => alert ?? []);
/** It always fires. */
const WATCHDOG = 'Watchdog';
const queries = [
  ...rules.map(({ record, alert, expr }) => ({ place: record ?? alert ?? '', expr })),
  ...loadDashboardQueries(),
];

/** Labels of recorded series: the labels that their expression groups by. */
const recorded = new Map(
  rules.flatMap(({ record, expr }) =>
    record ? [[record, new Set(parseQuery(expr).groupings)] as const] : [],
  ),
);
const series = new Map<string, ReadonlySet<string>>([
  ...knownSeries(),
  ...recorded,
  // Prometheus's own series of firing alerts.
  ['ALERTS', new Set(['alertname', 'alertstate', 'severity'])],
  // Those of a broker's disk, by the kubelet and by node_exporter.
  ['kubelet_volume_stats_available_bytes', new Set(['persistentvolumeclaim'])],
  ['kubelet_volume_stats_capacity_bytes', new Set(['persistentvolumeclaim'])],
  ['node_filesystem_avail_bytes', new Set(['mountpoint'])],
  ['node_filesystem_size_bytes', new Set(['mountpoint'])],
]);

test('the Prometheus Operator has the same rules; `node deploy/k8s/monitoring/write-rules.ts` writes them', () => {
  const objects = parseAllDocuments(readFileSync(join(DEPLOY, 'k8s', 'monitoring', 'rules.yaml'), 'utf8'));
  const groups = objects.flatMap((object) => (object.toJS() as { spec: RuleFile }).spec.groups);
  expect(groups.flatMap((group) => group.rules)).toEqual(rules);
});

test('rules and dashboards exist', () => {
  expect(rules.length).toBeGreaterThan(50);
  expect(loadDashboardQueries().length).toBeGreaterThan(50);
});

test.each(queries)('$place queries only existing series, by labels that they have', ({ expr }) =>
  expectKnownSeries(expr),
);

function expectKnownSeries(expr: string): void {
  const { selectors, groupings } = parseQuery(expr);
  expect(selectors.length).toBeGreaterThan(0);
  for (const { name, labels } of selectors) {
    expect([...series.keys()]).toContain(name);
    for (const label of labels) expect([...(series.get(name) ?? [])]).toContain(label);
  }
  const known = new Set(selectors.flatMap(({ name }) => [...(series.get(name) ?? [])]));
  for (const label of groupings) expect([...known]).toContain(label);
}

test.each(PROCESSES)(
  'every metric of %s that is queried has a series from its first scrape on',
  async (process) => {
    const queried = new Set(
      queries.flatMap(({ expr }) => parseQuery(expr).selectors.map(({ name }) => name)),
    );
    const text = await firstScrapeOf(process);
    const scraped = new Set([...text.matchAll(/^([a-z]\w*)(?=[{ ])/gm)].map(([, name]) => name));
    const own = metricsOf(process).flatMap(({ name, type }) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((ending) => name + ending) : [name],
    );
    const wanted = own.filter((name) => queried.has(name));
    expect(wanted).toContain('rolecall_ready');
    expect(wanted.filter((name) => !scraped.has(name))).toEqual([]);
  },
);

test('every alert has a severity, a summary and a link to its runbook entry', () => {
  for (const { alert, labels, annotations } of rules.filter((rule) => rule.alert)) {
    expect(alert === WATCHDOG ? ['none'] : ['page', 'ticket']).toContain(labels?.['severity']);
    expect(annotations?.['summary']).toMatch(/\.$/);
    expect(annotations?.['runbook_url']).toBe(`{{ $externalLabels.runbook }}#${alert?.toLowerCase()}`);
  }
});

test('the runbook has one entry for each alert, and no others', () => {
  const entries = [...readRunbook().matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
  expect([...entries].sort()).toEqual([...alerts].sort());
});

test('deploy/README.md links to the entry of every alert, by its severity', () => {
  const readme = readFileSync(join(DEPLOY, 'README.md'), 'utf8');
  const rows = [...readme.matchAll(/^\|[^|]+\|([^|]*RUNBOOK[^|]*)?\|([^|]*RUNBOOK[^|]*)?\|$/gm)];
  const listed = (cells: readonly (string | undefined)[]) =>
    cells.flatMap((cell = '') =>
      [...cell.matchAll(/\[(\w+)\]\(RUNBOOK\.md#(\w+)\)/g)].map(([, name = '', anchor]) => {
        expect(anchor).toBe(name.toLowerCase());
        return name;
      }),
    );
  const ofSeverity = (severity: string) =>
    rules.flatMap(({ alert, labels }) => (alert && labels?.['severity'] === severity ? [alert] : []));
  expect(listed(rows.map(([, pages]) => pages)).sort()).toEqual(ofSeverity('page').sort());
  expect(listed(rows.map(([, , tickets]) => tickets)).sort()).toEqual(ofSeverity('ticket').sort());
});

test('every runbook entry has a meaning, commands to run, results to look at, and steps to take', () => {
  for (const entry of readRunbook().split(/^### /m).slice(1)) {
    for (const part of ['**Means**', '**Run**', '**Look at**', '**Do**']) expect(entry).toContain(part);
    expect(runbookCommands(entry)).not.toEqual([]);
  }
});

test.each(runbookCommands(readRunbook()))('the runbook can be followed literally: %s', async (command) => {
  const [, name = '', rest = ''] = /^([\w-]+) (.+)$/.exec(command) ?? [];
  if (name === 'admin') await readAdminLine(rest);
  else if (name === 'chains') await readAdminLine(`chains ${rest} chains.json`);
  else if (name === 'prom') expectKnownSeries(/^'(.+)'$/.exec(rest)?.[1] ?? '');
  else if (['logs', 'scale', 'restart'].includes(name)) expect(PROCESSES).toContain(rest.split(' ')[0]);
  else expect(['curl', 'redis', 'chronyc']).toContain(name);
  const searched = / grep '([^']+)'/.exec(rest)?.[1];
  if (searched) expect(sources.some((text) => text.includes(`'${searched}`))).toBe(true);
});

/** @throws CommanderError for a subcommand, an option or an argument that does not exist */
async function readAdminLine(line: string): Promise<void> {
  const ignore = async () => undefined;
  const program = makeProgram(ignore, ignore, {}, true, async () => []);
  await program.parseAsync(line.split(' '), { from: 'user' });
  const [, topic] = /^dead-letter \w+ (\S+)/.exec(line) ?? [];
  if (topic) expect(SOURCE_TOPICS.map(({ name }) => name)).toContain(topic);
}

test('the runbook names only existing metrics', () => {
  const named = [...readRunbook().matchAll(/`(rolecall_\w+)`/g)].map(([, name = '']) => name);
  expect(named.filter((name) => !series.has(name))).toEqual([]);
});

test('the runbook follows a customer complaint in this order: accepted, evaluated, delivered', () => {
  const [, entry = ''] = /^## One customer complains$([\s\S]+?)^## /m.exec(readRunbook()) ?? [];
  const steps = ['**Accepted?**', '**Evaluated?**', '**Delivered?**'].map((step) => entry.indexOf(step));
  expect(steps).not.toContain(-1);
  expect(steps).toEqual([...steps].sort((a, b) => a - b));
  const words = runbookCommands(entry).join('\n');
  for (const needed of ['admin app list', 'admin check show', 'admin webhook show', 'admin webhook resend'])
    expect(words).toContain(needed);
});

describe.each(loadDashboards())('the dashboard $title', (dashboard) => {
  const others = loadDashboards().map(({ uid }) => uid);

  test('links to every dashboard, and only to existing pages', () => {
    const uidOf = (url: string) => /^\/d\/([\w-]+)(\?|$)/.exec(url)?.[1];
    expect(dashboard.links.map(({ url }) => uidOf(url)).sort()).toEqual([...others].sort());
    for (const { url } of dashboard.panels.flatMap(({ links }) => links ?? []))
      expect(others).toContain(uidOf(url));
  });

  test('marks process starts and held revocations', () => {
    const exprs = dashboard.annotations.list.map(({ expr }) => expr);
    expect(exprs).toHaveLength(2);
    expect(exprs[0]).toContain('process_start_time_seconds');
    expect(exprs[1]).toContain('rolecall_watches_held');
  });

  test('has panels that do not overlap, each with its own id', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});

test('the overview lists the firing alerts, and shows when each fired', () => {
  const overview = loadDashboards().find(({ uid }) => uid === 'rolecall-overview');
  expect(overview?.panels.map(({ type }) => type)).toContain('alertlist');
  const exprs = overview?.panels.flatMap(({ targets }) => targets?.map(({ expr }) => expr) ?? []);
  expect(exprs).toContainEqual(expect.stringContaining('ALERTS{alertstate="firing"}'));
});

test('every alert has unit tests, both silent and firing', () => {
  const tests = readRuleTests();
  for (const alert of alerts.filter((name) => name !== WATCHDOG)) {
    const asked = tests.matchAll(
      new RegExp(`alertname="${alert}"[^\\n]*\\n[^\\n]*\\n\\s*exp_samples: \\[\\{value: (\\d)`, 'g'),
    );
    const values = new Set([...asked].map(([, value]) => value === '0'));
    expect({ alert, values }).toEqual({ alert, values: new Set([true, false]) });
  }
});

test('the objective of decided rules counts every code that we are responsible for', () => {
  const [rule] = rules.filter(({ record }) => record?.startsWith('rolecall:undecided'));
  const counted = /code=~"([^"]+)"/.exec(rule?.expr ?? '')?.[1]?.split('|') ?? [];
  // The client chose a block that is not mined yet; asking again may help, but the code is not our
  // fault.
  const ours = Object.entries(UNDETERMINED).flatMap(([code, { retryable }]) =>
    retryable && code !== 'min-block-not-reached' ? [code] : [],
  );
  expect([...counted].sort()).toEqual([...ours].sort());
});
