import type { BenchSystem } from './bench-system.ts';

/** RPC calls of the first evaluator so far, and the reads in them. */
export async function rpcFiguresOf({ system }: BenchSystem): Promise<{ calls: number; reads: number }> {
  const { ops } = system.ready.processes.find(({ service }) => service === 'evaluator') ?? { ops: '' };
  const text = await (await fetch(`${ops}/metrics`)).text();
  const sumOfSeries = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}\\{.*\\} (\\S+)$`, 'gm'))].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  return {
    calls: sumOfSeries('rolecall_rpc_calls_total'),
    reads: sumOfSeries('rolecall_reads_per_call_sum'),
  };
}
