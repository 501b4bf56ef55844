import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Fault } from './fault.ts';
import { f07KillBroker } from './faults/f07-kill-broker.ts';
import { f14BadRpc } from './faults/f14-bad-rpc.ts';
import type { Broken } from './reconcile.ts';
import { repeatFor } from './repeat.ts';

/** A system with a mistake in it, the row that must find it, and the promise that is then seen to be broken. */
export type BrokenVariant = {
  readonly name: string;
  readonly caughtAs: keyof Broken;
  readonly fault: Fault;
};

/** So slow a chain, nearly from one block to the next, that every kill meets checks in hand. */
const SLOW_RPC_MS = 900;
const KILL_EVERY_S = 6;
const STORE_AWAY_MS = 4_000;

const killOnSlowChain: Fault = {
  id: 'F2',
  title: `kill -9 one of three evaluators every ${KILL_EVERY_S} s, on a slow chain`,
  async before(system) {
    for (const proxy of system.chains.main) await proxy.setFault({ kind: 'none', delayMs: SLOW_RPC_MS });
  },
  async run({ system, seconds, random }) {
    await repeatFor(seconds, KILL_EVERY_S, () => void system.signal('evaluator', 'SIGKILL', random.below(3)));
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

const variant = (name: string, into: string, caughtAs: keyof Broken, fault: Fault): BrokenVariant => {
  const file = fileURLToPath(new URL(`./broken/${name}.ts`, import.meta.url));
  return { name, caughtAs, fault: { ...fault, needs: { preloads: [{ file, into: [into] }] } } };
};

/** The proof must be able to fail: each of these must be caught. */
export const BROKEN_VARIANTS: readonly BrokenVariant[] = [
  variant('commit-before-effect', 'evaluator', 'lost', killOnSlowChain),
  variant('accept-before-acknowledgement', 'gateway', 'lost', f07KillBroker),
  variant('notify-before-store', 'webhook-dispatcher', 'early', holdResultStore),
  variant('deny-on-failed-read', 'evaluator', 'wrong', f14BadRpc),
];
