import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url));
export const RULES = join(DEPLOY, 'prometheus', 'rules');
export const RULE_TESTS = join(DEPLOY, 'prometheus', 'tests');
const DASHBOARDS = join(DEPLOY, 'grafana', 'dashboards');

export type Rule = {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
};
type RuleFile = { readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[] };

const textsIn = (folder: string, ending: string): [file: string, text: string][] =>
  readdirSync(folder)
    .filter((file) => file.endsWith(ending))
    .map((file) => [file, readFileSync(join(folder, file), 'utf8')]);

/** All recording and alerting rules. */
export const loadRules = (): Rule[] =>
  textsIn(RULES, '.yml').flatMap(([, text]) =>
    (parse(text) as RuleFile).groups.flatMap(({ rules }) => [...rules]),
  );

export type DashboardQuery = { readonly place: string; readonly expr: string };
type Dashboard = {
  readonly uid: string;
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
};

/** All queries of all dashboards, with the panel that asks them. */
export const loadDashboardQueries = (): DashboardQuery[] =>
  textsIn(DASHBOARDS, '.json').flatMap(([, text]) => {
    const { uid, panels } = JSON.parse(text) as Dashboard;
    return panels.flatMap(({ title, targets }) =>
      targets.map(({ expr }) => ({ place: `${uid}: ${title}`, expr })),
    );
  });

/** All of the unit tests of rules, as one text. */
export const readRuleTests = (): string =>
  textsIn(RULE_TESTS, '.yml')
    .map(([, text]) => text)
    .join('\n');

export const readRunbook = (): string => readFileSync(join(DEPLOY, 'README.md'), 'utf8');
