import { setTimeout as delay } from 'node:timers/promises';
import type { Member } from '../../../deploy/local/make-fleet.ts';

const LOOK_INTERVAL_MS = 20;

/** Keeps services that have died from being started again until they may. */
export type Gates = {
  readonly hold: (service: string) => void;
  readonly release: (service: string) => void;
  readonly releaseAll: () => void;
  /** The same part, which is not started while its service is held. */
  readonly guard: (member: Member) => Member;
};

/**
 * @example
 * gates.hold('kafka');
 * process.kill(pid, 'SIGKILL'); // and it stays away until
 * gates.release('kafka');
 */
export function makeGates(): Gates {
  const held = new Set<string>();
  return {
    hold: (service) => void held.add(service),
    release: (service) => void held.delete(service),
    releaseAll: () => held.clear(),
    guard: (member) => ({
      ...member,
      async start(hooks) {
        while (held.has(member.service) && !hooks.signal.aborted) await delay(LOOK_INTERVAL_MS);
        hooks.signal.throwIfAborted();
        return member.start(hooks);
      },
    }),
  };
}
