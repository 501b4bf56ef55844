import type { HeapProfiler, Profiler } from 'node:inspector';

export type Cost = { readonly what: string; readonly amount: number };
type Frame = { readonly functionName: string; readonly url: string; readonly lineNumber: number };

const ROOT = new URL('../../..', import.meta.url).href;
/** Frames without work, and the work of the profiler itself. */
const UNCOUNTED = new Set(['(idle)', '(root)']);
const INSTRUMENT = 'node:inspector';
const US_PER_MS = 1_000;

/** The package, the Node module or the project file of a frame. */
export function placeOf(url: string): string {
  const inPackages = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  if (inPackages) return inPackages;
  if (url.startsWith('node:')) return url;
  if (url.startsWith(ROOT)) return url.slice(ROOT.length);
  return url === '' ? 'native' : url;
}

const nameOf = ({ functionName, url, lineNumber }: Frame): string => {
  if (url === '') return functionName || '(native)';
  return `${functionName || `(line ${lineNumber + 1})`} in ${placeOf(url)}`;
};

/** Self time of functions in ms, without their callees and idle time; the largest first. */
export function selfTimes(profile: Profiler.Profile, by: 'function' | 'place' = 'function'): Cost[] {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const sums = new Map<string, number>();
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const frame = frames.get(id);
    if (!frame || UNCOUNTED.has(frame.functionName) || frame.url === INSTRUMENT) continue;
    const name = by === 'place' && frame.url !== '' ? placeOf(frame.url) : nameOf(frame);
    sums.set(name, (sums.get(name) ?? 0) + (profile.timeDeltas?.[index] ?? 0) / US_PER_MS);
  }
  return inOrder(sums);
}

/** Bytes that functions themselves allocated; the largest first. */
export function allocations(profile: HeapProfiler.SamplingHeapProfile): Cost[] {
  const sums = new Map<string, number>();
  const walk = ({ callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode): void => {
    if (selfSize > 0) sums.set(nameOf(callFrame), (sums.get(nameOf(callFrame)) ?? 0) + selfSize);
    for (const child of children) walk(child);
  };
  walk(profile.head);
  return inOrder(sums);
}

export const totalOf = (costs: readonly Cost[]): number => costs.reduce((sum, { amount }) => sum + amount, 0);

const inOrder = (sums: ReadonlyMap<string, number>): Cost[] =>
  [...sums].map(([what, amount]) => ({ what, amount })).sort((a, b) => b.amount - a.amount);
