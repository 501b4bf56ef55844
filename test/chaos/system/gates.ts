import { setTimeout as delay } from 'node:timers/promises';
import type { Member } from '../../../deploy/local/system/make-fleet.ts';

const POLL_INTERVAL_MS = 20;

/** Keeps dead services from being restarted until they are released. */
export type Gates = {
  readonly hold: (service: string) => void;
  readonly release: (service: string) => void;
  readonly releaseAll: () => void;
  /** The same member, which is not started while its service is held. */
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
        while (held.has(member.service) && !hooks.signal.aborted) await delay(POLL_INTERVAL_MS);
        hooks.signal.throwIfAborted();
        return member.start(hooks);
      },
    }),
  };
}
