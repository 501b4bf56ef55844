import type { Fault } from '../fault.ts';
import { type ChaosSystem, type Needs, startChaosSystem } from '../system/chaos-system.ts';
import { warmUp } from '../system/warm-up.ts';
import { type RowOptions, type RowReport, runRow } from './run-row.ts';

/** A row that could not run proves nothing, and fails. */
export type RowResult = RowReport | { readonly id: string; readonly title: string; readonly failed: string };

export const isWell = (row: RowResult): boolean => 'broken' in row && Object.keys(row.broken).length === 0;

type Options = RowOptions & {
  readonly portBase: number;
  /** Of the main chain. */
  readonly quorum: number;
  readonly say: (line: string) => void;
  readonly done: (row: RowResult) => void;
  /** Aborted when a person interrupts the run: the system is stopped, and the process ends. */
  readonly interrupted: AbortSignal;
};

/** A shell's exit code of a program that Ctrl-C ended. */
const INTERRUPTED = 130;

/**
 * Runs rows one after the other; rows with equal needs share a system, and rows that spoil it come
 * last on it. After a row with a fault the system is replaced, so that one failure is not reported
 * twice.
 */
export async function runRows(faults: readonly Fault[], options: Options): Promise<RowResult[]> {
  const results: RowResult[] = [];
  let system: Promise<ChaosSystem> | undefined;
  let has = '';
  const end = async (): Promise<void> => {
    // A system that failed to start has stopped itself.
    const started = await system?.catch(() => undefined);
    system = undefined;
    await started?.[Symbol.asyncDispose]();
  };
  options.interrupted.addEventListener('abort', () => void end().finally(() => process.exit(INTERRUPTED)));
  for (const fault of inOrder(faults)) {
    const needs = needsOf(fault);
    if (needs !== has) await end();
    has = needs;
    const result = await tryRow(fault, options, () => {
      system ??= startWarm(options, fault.needs ?? {});
      return system;
    });
    results.push(result);
    options.done(result);
    if (fault.isDestructive || !isWell(result)) await end().catch((error) => options.say(String(error)));
  }
  await end();
  return results;
}

async function startWarm(options: Options, needs: Needs): Promise<ChaosSystem> {
  await using scope = new AsyncDisposableStack();
  const system = scope.use(await startChaosSystem(options, needs));
  // Only figures suffer from a cold start.
  if (options.timesDecide !== false) await warmUp(system);
  scope.move();
  return system;
}

async function tryRow(fault: Fault, options: Options, start: () => Promise<ChaosSystem>): Promise<RowResult> {
  const { id, title } = fault;
  options.say(`${id}: ${title}`);
  try {
    return await runRow(fault, await start(), options);
  } catch (error) {
    return { id, title, failed: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

const needsOf = ({ needs }: Fault): string => JSON.stringify((needs ?? {}) satisfies Needs);

function inOrder(faults: readonly Fault[]): Fault[] {
  const kinds = [...new Set(faults.map(needsOf))];
  const place = (fault: Fault): number => kinds.indexOf(needsOf(fault)) * 2 + (fault.isDestructive ? 1 : 0);
  return [...faults].sort((a, b) => place(a) - place(b));
}
