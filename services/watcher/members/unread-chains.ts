import { type MemberName, textOfName } from '#shared/stores/watches/members/watch-member-text.ts';

/** Members of a chain that are remembered; more follow their own retries. */
const NAMES_MAX = 100_000;
/** Members that an answer makes due: as many as a part has. */
const TAKEN_MAX = 500;
/** A probe without an answer is replaced after this time. */
const PROBE_MS_MAX = 15_000;

/**
 * The members of the own partitions for which a chain could not be read. One of them is asked every
 * few seconds, so that the others need not be: the first answer that reads the chain makes them
 * due, and each further answer the next ones.
 *
 * In memory alone: a member that is not remembered here waits for its own retry.
 */
export function makeUnreadChains(now: () => number) {
  type Unread = { readonly names: Map<string, MemberName>; probe: string; probedAtMs: number };
  const chains = new Map<string, Unread>();
  return {
    /** Notes that a chain could not be read for a member. Returns whether this one is asked again
     * soon, for all of them. */
    note(chainId: string, name: MemberName): boolean {
      const key = textOfName(name);
      const unread = chains.get(chainId) ?? { names: new Map(), probe: key, probedAtMs: now() };
      chains.set(chainId, unread);
      if (unread.names.size < NAMES_MAX) unread.names.set(key, name);
      const isMine = unread.probe === key || now() - unread.probedAtMs > PROBE_MS_MAX;
      if (isMine) Object.assign(unread, { probe: key, probedAtMs: now() });
      return isMine;
    },
    /** The chain was read for these: returns the next members that are to be asked. */
    take(chainId: string, read: readonly MemberName[]): MemberName[] {
      const unread = chains.get(chainId);
      if (unread === undefined) return [];
      for (const name of read) unread.names.delete(textOfName(name));
      const taken = [...unread.names].slice(0, TAKEN_MAX);
      for (const [key] of taken) unread.names.delete(key);
      if (unread.names.size === 0) chains.delete(chainId);
      return taken.map(([, name]) => name);
    },
  };
}
