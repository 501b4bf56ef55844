import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { BUGS } from './bugs.ts';
import type { Fault } from './fault.ts';
import { f07KillBroker } from './faults/broker/f07-kill-broker.ts';
import { f14BadRpc } from './faults/chains/f14-bad-rpc.ts';
import type { Broken } from './judges/reconcile.ts';
import { watchMembers } from './load/watched-members.ts';
import { repeatFor } from './repeat.ts';

/** A promise of all rows, or of one row. */
type CaughtAs = keyof Broken | 'own';

/** A system with a bug in it, the row that must find it, and the promise that the row must report
 * as broken. */
export type BrokenVariant = {
  readonly name: string;
  readonly caughtAs: CaughtAs;
  readonly fault: Fault;
};

/** The chain is so slow, nearly a block's time, that every kill interrupts checks. */
const SLOW_RPC_MS = 900;
const KILL_EVERY_S = 6;
const STORE_AWAY_MS = 4_000;
const WATCHED = 50;
const WATCHER_KILL_EVERY_S = 3;
const DRAIN_MS = 25_000;

const killOnSlowChain: Fault = {
  id: 'F2',
  title: `kill -9 every evaluator every ${KILL_EVERY_S} s, on a slow chain`,
  async before(system) {
    for (const proxy of system.chains.main) await proxy.setFault({ kind: 'none', delayMs: SLOW_RPC_MS });
  },
  async run({ system, seconds }) {
    // One of them may have no check: an idle lane's checks need not use every partition.
    await repeatFor(seconds, KILL_EVERY_S, () => void system.signal('evaluator', 'SIGKILL'));
    return () => ({ figures: [] });
  },
};

const holdResultStore: Fault = {
  id: 'F3',
  title: 'result-store away for 4 s',
  async run({ system }) {
    system.gates.hold('result-store');
    system.signal('result-store', 'SIGKILL');
    await delay(STORE_AWAY_MS);
    system.gates.release('result-store');
    return () => ({ figures: [] });
  },
};

const killWatcher: Fault = {
  id: 'F31',
  title: `kill -9 the watcher every ${WATCHER_KILL_EVERY_S} s while the tokens of watched members move`,
  async run({ system, seconds, random, scope }) {
    const watched = await watchMembers(system, scope, { count: WATCHED });
    await watched.watch();
    await watched.untilRight();
    for (const endMs = Date.now() + seconds * 1_000; Date.now() < endMs; ) {
      const killMs = Date.now() + WATCHER_KILL_EVERY_S * 1_000;
      while (Date.now() < killMs) await watched.move(random);
      system.signal('watcher', 'SIGKILL');
      await system.waitUntilReady();
    }
    await watched.untilRight(DRAIN_MS);
    return async () => ({ figures: [], broken: await watched.judge() });
  },
};

const APPLY_BUG = fileURLToPath(new URL('./preload/apply-bug.ts', import.meta.url));

const variant = (name: keyof typeof BUGS, into: string, caughtAs: CaughtAs, fault: Fault): BrokenVariant => {
  const env = { CHAOS_BUG: JSON.stringify(BUGS[name]) };
  return {
    name,
    caughtAs,
    fault: { ...fault, needs: { preloads: [{ file: APPLY_BUG, into: [into], env }] } },
  };
};

/** The harness must be able to fail: it must catch each of these. */
export const BROKEN_VARIANTS: readonly BrokenVariant[] = [
  variant('commit-before-effect', 'evaluator', 'lost', killOnSlowChain),
  variant('accept-before-acknowledgement', 'gateway', 'lost', f07KillBroker),
  variant('notify-before-store', 'webhook-dispatcher', 'early', holdResultStore),
  variant('deny-on-failed-read', 'evaluator', 'wrong', f14BadRpc),
  variant('event-without-hand-off', 'watcher', 'own', killWatcher),
];
