/** An event `roles.changed` of a watch with one role, as a receiver got it. */
export type WatchEvent = {
  readonly ref: string;
  readonly sequence: number;
  readonly granted: boolean;
  readonly before: boolean | null;
  /** The raw body. */
  readonly body: string;
};

/** Parses the body of a message; returns nothing for another type of message. */
export function readWatchEvent(body: string): WatchEvent | undefined {
  const message = JSON.parse(body) as {
    readonly type: string;
    readonly ref: string;
    readonly sequence: number;
    readonly roles: readonly { readonly granted: boolean; readonly before: boolean | null }[];
  };
  const [role] = message.roles ?? [];
  if (message.type !== 'roles.changed' || !role) return undefined;
  const { ref, sequence } = message;
  return { ref, sequence, granted: role.granted, before: role.before, body };
}

/**
 * The faults in the events of a watch's members, in any order and with repetitions. Each member's
 * sequences begin at 1 and have no gap, a sequence has one body, each event changes the verdict of
 * the one before, and the last event agrees with the chain.
 *
 * @param truth by ref, whether the member holds the role now
 * @example
 * judgeWatchEvents([], new Map([['m0', true]])); // ['m0: no event']
 */
export function judgeWatchEvents(
  events: readonly WatchEvent[],
  truth: ReadonlyMap<string, boolean>,
): string[] {
  const byMember = Map.groupBy(events, ({ ref }) => ref);
  return [...truth].flatMap(([ref, isHeld]) => judgeMember(ref, byMember.get(ref) ?? [], isHeld));
}

function judgeMember(ref: string, events: readonly WatchEvent[], isHeld: boolean): string[] {
  if (events.length === 0) return [`${ref}: no event`];
  const faults: string[] = [];
  const bySequence = new Map<number, WatchEvent>();
  for (const event of events) {
    const known = bySequence.get(event.sequence);
    if (known && known.body !== event.body) faults.push(`${ref}: sequence ${event.sequence} has two bodies`);
    else bySequence.set(event.sequence, event);
  }
  let before: boolean | null = null;
  for (let sequence = 1; sequence <= bySequence.size; sequence++) {
    const event = bySequence.get(sequence);
    if (!event) return [...faults, `${ref}: no sequence ${sequence} of ${bySequence.size}`];
    if (event.before !== before || event.granted === before)
      faults.push(`${ref}: sequence ${sequence} changes ${event.before} to ${event.granted} after ${before}`);
    before = event.granted;
  }
  if (before !== isHeld) faults.push(`${ref}: the last event says ${before}, the chain ${isHeld}`);
  return faults;
}

/**
 * Members with more revocation events than the chain, a reorg or the rule set has caused, with all
 * their events.
 *
 * @param lostAt by ref, the blocks at which the role was found taken away
 * @example
 * judgeRevocations(events, new Map([['m0', [7]]])); // ['m0: 2 revocations, but the role was lost at [7]: {"type":…']
 */
export function judgeRevocations(
  events: readonly WatchEvent[],
  lostAt: ReadonlyMap<string, readonly number[]>,
): string[] {
  return [...Map.groupBy(events, ({ ref }) => ref)].flatMap(([ref, ofMember]) => {
    const bySequence = new Map(ofMember.map((event) => [event.sequence, event]));
    const { length } = [...bySequence.values()].filter(({ granted, before }) => before && !granted);
    const lost = lostAt.get(ref) ?? [];
    const bodies = [...bySequence.values()].map(({ body }) => body).join(' ');
    return length > lost.length
      ? [`${ref}: ${length} revocations, but the role was lost at [${lost}]: ${bodies}`]
      : [];
  });
}
