import { join } from 'node:path';
import { formatNumber } from '../support/figures/format-number.ts';
import { type Marks, writeMarked } from '../support/figures/marked-text.ts';
import type { Curve } from './curve.ts';

/** The document whose sizes are computed from the newest curves. */
export const SIZING_FILE = join(import.meta.dirname, '..', '..', 'deploy', 'README.md');
export const SIZES: Marks = {
  begin: '<!-- sizes: computed by npm run bench -- growth -->',
  end: '<!-- end of sizes -->',
};

const CHECKS_PER_SECOND = 10_000;
const MEMBERS = 10_000_000;
const SWEEP_SECONDS = [86_400, 3_600, 60] as const;
/** The share of a core that may be busy on average. A process of Node, and Redis, use one core. */
const BUSY_SHARE = 0.6;
const MACHINE_CORES = 8;
const REDIS_HEADROOM = 2;
const GIB = 1024 ** 3;
/** Parts that use one core: a busier one is a second process, or, of Redis, a second system. */
const isSingleThreaded = (name: string): boolean => name !== 'kafka';

type Curves = Readonly<Record<string, Curve & { readonly at: string }>>;

/**
 * How many machines it takes, as markdown: from the cost of a check while a million results are stored, and of a member in
 * a sweep of 100 000.
 */
export function formatSizes(curves: Curves): string {
  return [...sizeOfChecks(curves), '', ...sizeOfWatches(curves)].join('\n');
}

function sizeOfChecks(curves: Curves): string[] {
  const curve = curves['results'];
  const point = curve?.points.at(-1);
  if (!curve || !point) return notMeasured('checks', 'results');
  const { x, values } = point;
  const { all = 0, ...byProcess } = values;
  const lines = Object.entries(byProcess)
    .filter(([, ms]) => ms >= 0.001)
    .map(([name, ms]) => {
      const cores = (ms * CHECKS_PER_SECOND) / 1_000;
      const count = isSingleThreaded(name) ? processesOf(cores) : '–';
      return `| ${name} | ${formatNumber(ms)} | ${formatNumber(cores)} | ${count} |`;
    });
  const cores = (all * CHECKS_PER_SECOND) / 1_000;
  const redisPerSecond = (1_000 * BUSY_SHARE) / (values['redis'] ?? Number.NaN);
  return [
    `**${group(CHECKS_PER_SECOND)} checks of 3 rules per second**, without polls of their results, ${group(x)} results stored (the least of three runs, ${dayOf(curve)}). Cores = CPU ms of a check × ` +
      `${group(CHECKS_PER_SECOND)} ÷ 1 000; processes = cores ÷ ${BUSY_SHARE}, because a process uses one core and should be at most ` +
      `${BUSY_SHARE * 100} % busy:`,
    '',
    '| process | CPU ms of a check | cores | processes |',
    '|---|---|---|---|',
    ...lines,
    `| **all** | **${formatNumber(all)}** | **${formatNumber(cores)}** | |`,
    '',
    `${formatNumber(cores)} cores ÷ ${BUSY_SHARE} ÷ ${MACHINE_CORES} = **${machinesOf(cores)} machines of ${MACHINE_CORES} cores**, without replicas: two more ` +
      `brokers each write everything again. One Redis serves ${group(Math.floor(redisPerSecond))} checks per second at ${BUSY_SHARE * 100} % of its core; ` +
      `${CHECKS_PER_SECOND > redisPerSecond ? 'so these are two systems, with the client apps divided between them' : 'one is enough'}.`,
  ];
}

function sizeOfWatches(curves: Curves): string[] {
  const curve = curves['members'];
  const point = curve?.points.at(-1);
  if (!curve || !point) return notMeasured('watched members', 'members');
  const { x, values } = point;
  const { redisBytesPerMember = Number.NaN, rpcCallsPer1000Members = Number.NaN } = curve.facts ?? {};
  const { all = 0 } = values;
  const gib = (MEMBERS * redisBytesPerMember) / GIB;
  const lines = SWEEP_SECONDS.map((seconds) => {
    const perSecond = MEMBERS / seconds;
    const cores = (all * perSecond) / 1_000;
    const calls = (perSecond * rpcCallsPer1000Members) / 1_000;
    const shown = [group(seconds), group(Math.round(perSecond)), ...[cores, calls].map(formatNumber)];
    return `| ${shown.join(' | ')} | ${machinesOf(cores)} |`;
  });
  return [
    `**${group(MEMBERS)} watched members under 3 rules**, extrapolated from ${group(x)} (measured ${dayOf(curve)}): ${formatNumber(all)} CPU ms and ` +
      `${formatNumber(rpcCallsPer1000Members / 1_000)} RPC calls for a member in a sweep, ${redisBytesPerMember} bytes in Redis. ` +
      `Members per second = ${group(MEMBERS)} ÷ \`everySeconds\`:`,
    '',
    `| \`everySeconds\` | members per second | cores | RPC calls per second | machines of ${MACHINE_CORES} cores |`,
    '|---|---|---|---|---|',
    ...lines,
    '',
    `Redis: ${group(MEMBERS)} × ${redisBytesPerMember} bytes = ${formatNumber(gib)} GiB, and the same again while it rewrites its log: a machine of ` +
      `${formatNumber(gib * REDIS_HEADROOM)} GiB free memory, apart from stored results. Each event costs a webhook in addition, and each member one ` +
      `check of the quota per sweep. With \`follow\` a daily sweep is enough: a transfer is reported within seconds, whatever the number of members.`,
  ];
}

const processesOf = (cores: number): number => Math.ceil(cores / BUSY_SHARE);
const machinesOf = (cores: number): number => Math.ceil(cores / BUSY_SHARE / MACHINE_CORES);
const group = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ' ');

const notMeasured = (what: string, name: string): string[] => [
  `The size for ${what} is not measured yet: \`npm run bench -- growth ${name}\`.`,
];
const dayOf = ({ at }: { readonly at: string }): string => at.slice(0, '2026-11-22'.length);

/** Writes the sizes between the marks of the document. */
export const writeSizes = (curves: Curves): void => writeMarked(SIZING_FILE, SIZES, formatSizes(curves));
