import { pause as rest } from '#shared/wait-for.ts';
import { describeExit, type Exit } from './child.ts';
import type { ProcessKind } from './start-watchdog.ts';

/** The pause before a restart doubles from the first figure to the second, and starts over after a
 * quiet while. */
const RESTART_MS_MIN = 500;
const RESTART_MS_MAX = 10_000;
const QUIET_MS = 5_000;

export type Running = {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  stop(): Promise<void>;
};

export type Part = {
  readonly name: string;
  readonly kind: ProcessKind;
  readonly start: (hooks: { signal: AbortSignal; onSpawn: (pid: number) => void }) => Promise<Running>;
};

export type SuperviseDependencies = {
  /** Aborted when the whole system stops: nothing is restarted from then on. */
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
  /** The part has a process, which may still be getting ready. */
  readonly cameUp: (pid: number) => void;
  readonly wentDown: (pid: number) => void;
  /** Waits, or less when the signal is aborted; it never rejects. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
};

export type Supervised = {
  readonly name: string;
  /** How often it has ended by itself. */
  exitCount(): number;
  stop(): Promise<void>;
};

/**
 * Starts a part and starts it again whenever it dies, until it is stopped:
 *
 * `starting → up → (died) → pause → starting …`, and from each of them `→ stopped`.
 *
 * @throws the first start's error; a later start that fails is tried again after the pause.
 */
export async function supervise(part: Part, dependencies: SuperviseDependencies): Promise<Supervised> {
  const { say, cameUp, wentDown, pause = rest } = dependencies;
  const stopped = new AbortController();
  const signal = AbortSignal.any([dependencies.signal, stopped.signal]);
  const state: { pid: number | undefined; exitCount: number } = { pid: undefined, exitCount: 0 };

  const setPid = (pid: number | undefined): void => {
    if (state.pid !== undefined) wentDown(state.pid);
    state.pid = pid;
    if (pid !== undefined) cameUp(pid);
  };
  const start = async (): Promise<Running> => {
    try {
      const started = await part.start({ signal, onSpawn: setPid });
      // The stop came while it was starting, so no other code will end it.
      if (signal.aborted) await started.stop();
      signal.throwIfAborted();
      return started;
    } catch (error) {
      setPid(undefined);
      throw error;
    }
  };

  let running = await start();
  const keepUp = async (): Promise<void> => {
    let pauseMs = RESTART_MS_MIN;
    while (true) {
      const upAt = performance.now();
      const exit = await running.exited;
      setPid(undefined);
      if (signal.aborted) return;
      state.exitCount++;
      if (performance.now() - upAt > QUIET_MS) pauseMs = RESTART_MS_MIN;
      say(`${part.name} ended (${describeExit(exit)}); restarting in ${pauseMs / 1000} s`);
      for (let isUp = false; !isUp; pauseMs = Math.min(pauseMs * 2, RESTART_MS_MAX)) {
        await pause(pauseMs, signal);
        if (signal.aborted) return;
        isUp = await start().then(
          (next) => {
            running = next;
            say(`${part.name} is running again`);
            return true;
          },
          (error: Error) => {
            if (!signal.aborted) say(`${part.name} could not be started: ${error.message}`);
            return false;
          },
        );
      }
    }
  };
  const kept = keepUp();
  return {
    name: part.name,
    exitCount: () => state.exitCount,
    async stop() {
      stopped.abort();
      await running.stop();
      await kept;
    },
  };
}
