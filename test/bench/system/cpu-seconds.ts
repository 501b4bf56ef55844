import { readFileSync } from 'node:fs';

/** Source: proc(5). Every Linux that Node runs on has 100 ticks a second (`getconf CLK_TCK`). */
const TICKS_PER_SECOND = 100;
/** Positions of utime and stime after the name in brackets, which may contain blanks. */
const UTIME = 11;
const STIME = 12;

/**
 * The CPU seconds, user and system, that processes have used so far.
 *
 * @throws Error if one of them has ended
 */
export const cpuSecondsOf = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return sum + (Number(fields[UTIME]) + Number(fields[STIME])) / TICKS_PER_SECOND;
  }, 0);

/** CPU time, user and system, that this process has used since a reading of `process.cpuUsage()`,
 * ms. */
export function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
