import type { HeapProfiler, Profiler } from 'node:inspector';
import { type CpuSeconds, PROCESSES, sumOf } from './bench-system.ts';
import type { Hop } from './hops.ts';
import type { Results } from './results.ts';
import { allocations, type Cost, selfTimes, totalOf } from './summarise-profile.ts';

export type ServiceProfile = {
  readonly service: string;
  readonly cpu: Profiler.Profile;
  readonly heap: HeapProfiler.SamplingHeapProfile;
};

type Profile = Pick<Results, 'machine' | 'versions'> & {
  readonly at: string;
  readonly services: readonly ServiceProfile[];
  readonly used: CpuSeconds;
  /** What the system did, in one sentence without its count; the costs are given for each `unit`. */
  readonly work: string;
  readonly unit: string;
  readonly count: number;
};

const TOP = 10;
const TOP_OF_SERVICE = 6;
const ALLOCATING = ['gateway', 'evaluator'];
const BYTES_PER_KIB = 1_024;

/** The outcome of a profile as a Markdown page. */
export function formatProfile(profile: Profile): string {
  const { at, machine, versions, services, used, work, unit, count } = profile;
  const all = sumOf(used);
  const costHeading = `µs a ${unit}`;
  const perUnit = (ms: number): string => `${((1_000 * ms) / count).toFixed(1)}`;
  const everywhere = services
    .flatMap(({ service, cpu }) =>
      selfTimes(cpu, 'place').map(({ what, amount }) => ({ what: `${service}: ${what}`, amount })),
    )
    .sort((a, b) => b.amount - a.amount);
  const times = (costs: readonly Cost[], top: number): string[] =>
    costs.slice(0, top).map(({ what, amount }) => line([what, amount.toFixed(0), perUnit(amount)]));
  return [
    '# Where the time goes',
    '',
    'Written by `npm run bench -- profile`. Do not edit.',
    '',
    `${at.slice(0, 10)}, ${machine.cores} cores (${machine.cpu}), commit ${versions['commit']}, Node ${versions['node']}: ${count} ${work}, RPC latency 20 ms.`,
    'The shares come from a round without sampling, the costs from a sampled round after it, which makes each cost higher.',
    '',
    '## Shares of the processes',
    '',
    ...table(
      ['process', 'CPU s', 'share', `CPU ${costHeading}`],
      PROCESSES.map((name) => [
        name,
        used[name].toFixed(2),
        `${((100 * used[name]) / all).toFixed(0)} %`,
        perUnit(1_000 * used[name]),
      ]),
    ),
    '## The ten top costs',
    '',
    'Self time by package, file or part of Node, in any service. `(program)` is native code: sockets, the kernel, TLS, hashing.',
    '',
    ...table(['what', 'ms', costHeading], []).slice(0, 2),
    ...times(everywhere, TOP),
    '',
    '## By service',
    '',
    ...services.flatMap(({ service, cpu }) => [
      `### ${service}`,
      '',
      ...table(['function', 'ms', costHeading], []).slice(0, 2),
      ...times(selfTimes(cpu), TOP_OF_SERVICE),
      '',
    ]),
    '## Allocations',
    '',
    ...services
      .filter(({ service }) => ALLOCATING.includes(service))
      .flatMap(({ service, heap }) => formatAllocations(service, allocations(heap), { unit, count })),
  ].join('\n');
}

/** The path of sync checks as a Markdown page. */
export function formatHops(hops: readonly Hop[]): string {
  return [
    '# The budget of a sync check',
    '',
    'Written by `npm run bench -- profile`. Do not edit.',
    '',
    'Sync checks over an idle system, one after another, from their traces: medians, in order of their start. The time',
    'between the end of one span and the start of the next is spent in the broker, Redis or the event loop.',
    '',
    ...table(
      ['process', 'span', 'begins, ms', 'ends, ms', 'lasts, ms', 'p99, ms'],
      hops.map(({ service, name, beginsMs, lastsMs, lastsP99Ms }) => [
        service,
        name,
        beginsMs.toFixed(2),
        (beginsMs + lastsMs).toFixed(2),
        lastsMs.toFixed(2),
        lastsP99Ms.toFixed(2),
      ]),
    ),
  ].join('\n');
}

function formatAllocations(
  service: string,
  costs: readonly Cost[],
  { unit, count }: Pick<Profile, 'unit' | 'count'>,
): string[] {
  const kib = (bytes: number): string => (bytes / BYTES_PER_KIB / count).toFixed(2);
  return [
    `### ${service}: ${kib(totalOf(costs))} KiB a ${unit}`,
    '',
    ...table(
      ['function', `KiB a ${unit}`],
      costs.slice(0, TOP_OF_SERVICE).map(({ what, amount }) => [what, kib(amount)]),
    ),
  ];
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

const table = (headings: readonly string[], rows: readonly (readonly string[])[]): string[] => [
  line(headings),
  line(headings.map(() => '---')),
  ...rows.map(line),
  '',
];
