// A separate process that outlives a starter killed by SIGKILL: its stdin ends then, and it ends
// the processes that the starter had started. Lines on stdin: `+ PID service`,
// `+ PID infrastructure`, `- PID`.
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

type Kind = 'service' | 'infrastructure';

/**
 * Everything has ended within 5 s of the starter's death. Services end first, because their last
 * writes go to the infrastructure:
 *
 * | at most after | services | infrastructure |
 * |---|---|---|
 * | 0 s   | SIGTERM | |
 * | 1 s   | SIGKILL | SIGTERM |
 * | 3.5 s | | SIGKILL |
 */
const SERVICES_MS_MAX = 1_000;
const INFRASTRUCTURE_MS_MAX = 2_500;
const POLL_MS = 25;

const watched = new Map<number, Kind>();

// The terminal's signals are the starter's business.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const [sign, pid, kind] = line.split(' ');
  if (sign === '+') watched.set(Number(pid), kind === 'service' ? 'service' : 'infrastructure');
  else watched.delete(Number(pid));
}
await endAll('service', SERVICES_MS_MAX);
await endAll('infrastructure', INFRASTRUCTURE_MS_MAX);

async function endAll(kind: Kind, msMax: number): Promise<void> {
  const pids = [...watched].filter(([, of]) => of === kind).map(([pid]) => pid);
  for (const pid of pids) signalTo(pid, 'SIGTERM');
  const killAt = performance.now() + msMax;
  while (pids.some((pid) => signalTo(pid, 0)) && performance.now() < killAt) await delay(POLL_MS);
  for (const pid of pids) signalTo(pid, 'SIGKILL');
}

function signalTo(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
