import type { Condition } from '#shared/contracts/rules/rule.ts';
import { ORDINARY_CHECK, type UnknownAnswer, type UnknownOutcome } from './ask-unknown.ts';
import type { Judged, Outcome, Way } from './judge-by-way.ts';
import type { Case } from './make-rules.ts';

/** Reads that cost more gas than a check allows: such a rule is undetermined although a plain call
 * decides it. */
const MAY_BE_MISSED_FOR: ReadonlySet<Outcome> = new Set<Outcome>(['gas-exhausted']);

type ByWay = { readonly way: Way; readonly judged: readonly Judged[] };
type Counts = Record<string, number>;

export type WayReport = {
  readonly way: Way;
  readonly ruleCount: number;
  readonly decidedCount: number;
  /** Rules without a verdict, by code. */
  readonly undetermined: Counts;
  /** The rules without a verdict that the node's own answers decide. */
  readonly missed: Counts;
  readonly wrong: readonly string[];
  readonly missedWithoutReason: readonly string[];
};

export type ClientReport = {
  readonly client: string;
  readonly tokenCount: number;
  readonly ways: readonly WayReport[];
  readonly disagreements: readonly string[];
};

/** About blocks and tags that a client does not have. */
export type Unknown = {
  readonly client: string;
  readonly answers: readonly UnknownAnswer[];
  readonly outcomes: readonly UnknownOutcome[];
};

const isDecided = (outcome: Outcome | undefined): boolean => outcome === 'granted' || outcome === 'denied';

/** Compares each outcome of one way with the verdict by the node's own answers. */
export async function compareWithNode({ way, judged }: ByWay): Promise<WayReport> {
  const undetermined: Counts = {};
  const missed: Counts = {};
  const wrong: string[] = [];
  const missedWithoutReason: string[] = [];
  let ruleCount = 0;
  for (const { rule, case: one, outcome } of eachRule(judged)) {
    ruleCount += 1;
    const truth = await one.judge.judge(rule, one.wallets);
    const isMissed = !isDecided(outcome) && truth !== 'open';
    if (!isDecided(outcome)) add(undetermined, outcome);
    if (isMissed) add(missed, outcome);
    const line = `${way}, ${one.target}: ${outcome}, by the node ${truth}: ${describe(rule, one)}`;
    if (isDecided(outcome) && outcome !== truth) wrong.push(line);
    if (isMissed && !MAY_BE_MISSED_FOR.has(outcome)) missedWithoutReason.push(line);
  }
  const decidedCount = ruleCount - Object.values(undetermined).reduce((sum, count) => sum + count, 0);
  return { way, ruleCount, decidedCount, undetermined, missed, wrong, missedWithoutReason };
}

/** Rules that two ways decide differently. */
export function findDisagreements(byWay: readonly ByWay[]): string[] {
  const outcomesOf = byWay.map(({ way, judged }) => ({ way, rules: [...eachRule(judged)] }));
  const [first] = outcomesOf;
  return (first?.rules ?? []).flatMap(({ rule, case: one }, index) => {
    const outcomes = outcomesOf.map(({ way, rules }) => ({ way, outcome: rules[index]?.outcome }));
    const decided = outcomes.filter(({ outcome }) => isDecided(outcome));
    if (new Set(decided.map(({ outcome }) => outcome)).size < 2) return [];
    const list = outcomes.map(({ way, outcome }) => `${outcome} by ${way}`).join(', ');
    return [`${one.target}: ${list}: ${describe(rule, one)}`];
  });
}

type RuleOutcome = { readonly rule: Condition; readonly case: Case; readonly outcome: Outcome };

function* eachRule(judged: readonly Judged[]): Generator<RuleOutcome> {
  for (const { case: one, outcomes } of judged)
    for (const [index, outcome] of outcomes.entries())
      yield { rule: one.rules[index] as Condition, case: one, outcome };
}

const describe = (rule: Condition, { wallets, block, isPast }: Case): string =>
  `${JSON.stringify(rule)} of ${JSON.stringify(wallets)}${isPast ? ` at ${block.number}` : ''}`;

function add(counts: Counts, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** Whether a report has a fault that must be fixed. */
export const isClean = ({ ways, disagreements }: ClientReport): boolean =>
  disagreements.length === 0 &&
  ways.every(({ wrong, missedWithoutReason }) => wrong.length === 0 && missedWithoutReason.length === 0);

/** Faults that are printed of each kind: one cause often appears in hundreds of rules. */
const FAULTS_SHOWN_MAX = 10;

export function formatReport({ client, tokenCount, ways, disagreements }: ClientReport): string {
  const list = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0
      ? []
      : [`  ${title} (${lines.length}):`, ...lines.slice(0, FAULTS_SHOWN_MAX).map((line) => `    ${line}`)];
  return [
    `${client}: ${tokenCount} tokens, ${disagreements.length} disagreements`,
    ...ways.map(formatWay),
    ...ways.flatMap(({ wrong, missedWithoutReason }) => [
      ...list('wrong', wrong),
      ...list('missed', missedWithoutReason),
    ]),
    ...list('disagreements', disagreements),
  ].join('\n');
}

function formatWay({ way, ruleCount, decidedCount, undetermined, missed, wrong }: WayReport): string {
  const byCode = Object.entries(undetermined)
    .toSorted(([, one], [, other]) => other - one)
    .map(([code, count]) => `${code} ${count}${missed[code] ? ` (missed ${missed[code]})` : ''}`);
  const counts = `${ruleCount} rules, ${decidedCount} decided, ${wrong.length} wrong`;
  return `  ${way.padEnd(10)} ${counts}; undetermined: ${byCode.join(', ')}`;
}

/** Whether checks that named unknown blocks left the endpoint to the next check. */
export const isUnharmed = ({ outcomes }: Unknown): boolean =>
  outcomes.some(({ question, outcome }) => question === ORDINARY_CHECK && outcome === 'decided');

/** One table of all clients: their answers about what they do not have, and what checks that name
 * it get. */
export function formatUnknown(clients: readonly Unknown[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rowsOf = ({ answers, outcomes }: Unknown) => [
    ...answers.map(({ question, answer }) => ({ question, text: answer })),
    ...outcomes.map(({ question, outcome }) => ({ question, text: outcome })),
  ];
  const [first] = clients;
  if (first === undefined) return '';
  const headings = ['asked for', ...clients.map(({ client }) => client)];
  const rows = rowsOf(first).map(({ question }, index) => [
    question,
    ...clients.map((client) => rowsOf(client)[index]?.text ?? ''),
  ]);
  return [headings, headings.map(() => '---'), ...rows].map(line).join('\n');
}
