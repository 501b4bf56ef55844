// Scenario: promtool checks the rules, the configuration and the dashboards' queries, and runs the
// rules' unit tests.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { describeWithPrometheus, promtool } from '../../support/infrastructure/prometheus.ts';
import { DEPLOY, loadDashboardQueries, RULE_TESTS, RULES } from '../../support/judges/monitoring-files.ts';
import { asAsked } from '../../support/judges/promql.ts';

const filesIn = (folder: string) => readdirSync(folder).map((file) => join(folder, file));

describeWithPrometheus('promtool', () => {
  test('promtool accepts the configuration and the rules', async () => {
    const config = await promtool('check', 'config', join(DEPLOY, 'prometheus', 'prometheus.yml'));
    expect(config).toMatchObject({ exitCode: 0 });
    const rules = await promtool('check', 'rules', '--lint=all', '--lint-fatal', ...filesIn(RULES));
    expect(rules).toMatchObject({ exitCode: 0 });
  });

  test.each(readdirSync(RULE_TESTS))('the rules pass the unit tests of %s', async (file) => {
    const { exitCode, output } = await promtool('test', 'rules', join(RULE_TESTS, file));
    expect({ exitCode, output: exitCode === 0 ? '' : output }).toEqual({ exitCode: 0, output: '' });
  });

  test('promtool accepts every query of the dashboards', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'rolecall-queries-'));
    try {
      const rules = loadDashboardQueries().map(({ expr }, index) => ({
        record: `q:${index}`,
        expr: asAsked(expr),
      }));
      const file = join(dir, 'queries.yml');
      writeFileSync(file, stringify({ groups: [{ name: 'queries', rules }] }));
      expect(await promtool('check', 'rules', '--lint=none', file)).toMatchObject({ exitCode: 0 });
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
