import { setTimeout as delay } from 'node:timers/promises';
import { type Child, describeExit, type Exit } from './child.ts';

const POLL_MS = 100;
/**
 * Long, because a busy machine starts Kafka slowly, after a kill -9 Kafka checks every log, and
 * Redis reads back its log file. A process that ends is reported at once.
 */
const UP_TIMEOUT_S = 180;

type Wait = {
  /** The name in the error. */
  readonly what: string;
  readonly signal?: AbortSignal | undefined;
  /** Read for the error if the process ended: the end of its log. */
  readonly logTail?: () => string;
};

/**
 * Waits until `isUp` says so; a throw of it counts as "not yet".
 *
 * @throws Error if the process ends first or 180 s have passed, with the end of its log; or if it
 *   was aborted. The process is killed then.
 */
export async function waitUntilUp(child: Child, isUp: () => Promise<boolean>, wait: Wait): Promise<void> {
  try {
    await poll(child, isUp, wait);
  } catch (error) {
    await child.kill9();
    throw error;
  }
}

async function poll(child: Child, isUp: () => Promise<boolean>, wait: Wait): Promise<void> {
  let exit: Exit | undefined;
  void child.exited.then((value) => {
    exit = value;
  });
  const giveUpAt = performance.now() + UP_TIMEOUT_S * 1000;
  while (!(await isUp().catch(() => false))) {
    wait.signal?.throwIfAborted();
    const log = (): string => {
      const tail = wait.logTail?.().trim() ?? '';
      return tail === '' ? '' : `; it said:\n${tail}`;
    };
    if (exit) throw new Error(`${wait.what} ended before it was up (${describeExit(exit)})${log()}`);
    if (performance.now() > giveUpAt)
      throw new Error(`${wait.what} was not up after ${UP_TIMEOUT_S} s${log()}`);
    await delay(POLL_MS);
  }
}
