import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** The system reuses process ids, so a process is identified by its id and its start time (ticks
 * since boot). */
export const ProcessIdentity = z.object({
  pid: z.number().int().positive(),
  startTicks: z.string().nullable(),
});
export type ProcessIdentity = z.infer<typeof ProcessIdentity>;

/** The identity of a process that runs now. Its start is null if the system does not tell (no
 * `/proc`). */
export const identify = (pid: number): ProcessIdentity => ({ pid, startTicks: startTicksOf(pid) });

/** Whether that very process still runs. A zombie does not. */
export function isRunning({ pid, startTicks }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const stat = readStat(pid);
  if (stat === undefined) return startTicks === null;
  return stat.state !== 'Z' && (startTicks === null || stat.startTicks === startTicks);
}

const startTicksOf = (pid: number): string | null => readStat(pid)?.startTicks ?? null;

/** Source: proc(5), fields 3 and 22; the command in field 2 may hold anything, so counting begins
 * behind it. */
function readStat(pid: number): { state: string; startTicks: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', startTicks: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}
