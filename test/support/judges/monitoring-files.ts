import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const DEPLOY = fileURLToPath(new URL('../../../deploy', import.meta.url));
export const RULES = join(DEPLOY, 'prometheus', 'rules');
export const RULE_TESTS = join(DEPLOY, 'prometheus', 'tests');
const DASHBOARDS = join(DEPLOY, 'grafana', 'dashboards');

type Rule = {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
};
export type RuleFile = {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
};

const textsIn = (folder: string, ending: string): [file: string, text: string][] =>
  readdirSync(folder)
    .filter((file) => file.endsWith(ending))
    .map((file) => [file, readFileSync(join(folder, file), 'utf8')]);

/** All recording and alerting rules. */
export const loadRules = (): Rule[] =>
  textsIn(RULES, '.yml').flatMap(([, text]) =>
    (parse(text) as RuleFile).groups.flatMap(({ rules }) => [...rules]),
  );

type DashboardQuery = { readonly place: string; readonly expr: string };
type Link = { readonly title: string; readonly url: string };
type Dashboard = {
  readonly uid: string;
  readonly title: string;
  readonly links: readonly Link[];
  readonly annotations: { readonly list: readonly { readonly name: string; readonly expr: string }[] };
  readonly panels: readonly {
    readonly id: number;
    readonly type: string;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly links?: readonly Link[];
    /** Absent from panels without a query, such as a list of alerts. */
    readonly targets?: readonly { readonly expr: string }[];
  }[];
};

export const loadDashboards = (): Dashboard[] =>
  textsIn(DASHBOARDS, '.json').map(([, text]) => JSON.parse(text) as Dashboard);

/** All queries of all dashboards, each with its panel or annotation. */
export const loadDashboardQueries = (): DashboardQuery[] =>
  loadDashboards().flatMap(({ uid, panels, annotations }) => [
    ...annotations.list.map(({ name, expr }) => ({ place: `${uid}: ${name}`, expr })),
    ...panels.flatMap(({ title, targets }) =>
      (targets ?? []).map(({ expr }) => ({ place: `${uid}: ${title}`, expr })),
    ),
  ]);

/** All unit tests of the rules, as one text. */
export const readRuleTests = (): string =>
  textsIn(RULE_TESTS, '.yml')
    .map(([, text]) => text)
    .join('\n');

export const readRunbook = (): string => readFileSync(join(DEPLOY, 'RUNBOOK.md'), 'utf8');

/** The commands in the shell blocks of a Markdown text, each once, without the functions that the
 * runbook defines. */
export const runbookCommands = (markdown: string): string[] => {
  const blocks = [...markdown.matchAll(/^ *```sh\n([\s\S]+?)^ *```$/gm)].map(([, block]) => block ?? '');
  const lines = blocks.flatMap((block) => block.split('\n')).map((line) => line.trim());
  return [...new Set(lines.filter((line) => line && !line.startsWith('#') && !/^\w+\(\) \{/.test(line)))];
};

/** The source files of the processes, without tests. */
export const readSources = (): string[] =>
  ['services', 'shared'].flatMap((folder) => {
    const root = join(DEPLOY, '..', folder);
    return readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => readFileSync(join(root, file), 'utf8'));
  });
