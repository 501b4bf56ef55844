import { makeRunningSystem, type RunningSystem, type SystemFacts } from './running-system.ts';

/** The environment variable that holds the address of the shared system. */
export const SHARED_SYSTEM = 'TEST_SHARED_SYSTEM';

export type SharedSystem = RunningSystem & {
  /** Ends a part after the tests of the suite. */
  readonly use: <T extends AsyncDisposable>(part: T | Promise<T>) => Promise<T>;
};

/**
 * The system that suites share, one after the other: every process is ready
 * when the suite begins, and the client app is the suite's own. A suite leaves the system as it was:
 * it restarts the processes that it stops and moves back the tokens that it moves. It begins with
 *
 *     @jest-environment ./test/support/jest/shared-system-environment.ts
 *
 * @example
 * const system = sharedSystem();
 * await system.client.check({ account: system.chain.holder, rules });
 */
export function sharedSystem(): SharedSystem {
  const facts = process.env[SHARED_SYSTEM];
  if (!facts) throw new Error(`${SHARED_SYSTEM} is not set: the suite names no environment with a system`);
  const stack = new AsyncDisposableStack();
  afterAll(() => stack.disposeAsync());
  return {
    ...makeRunningSystem(JSON.parse(facts) as SystemFacts),
    use: async (part) => stack.use(await part),
  };
}
