import type { WatchMember } from '#shared/contracts/watches/watch.ts';

type Effects = {
  readonly figures: Record<string, number>;
  readonly sweep: number | undefined;
  readonly tally: Record<string, number>;
  /** Role id and when, epoch ms. */
  readonly revoked: readonly (readonly [string, number])[];
};

/** The changes that a write makes to the figures of a watch, the tally of its sweep and the last hour's revocations. */
export function effectsOf(before: WatchMember | undefined, after: WatchMember): Effects {
  const figures: Record<string, number> = {};
  const tally: Record<string, number> = {};
  const add = (to: Record<string, number>, name: string, change: number) => {
    to[name] = (to[name] ?? 0) + change;
    if (to[name] === 0) delete to[name];
  };
  const sweep = [...after.roles, ...(before?.roles ?? [])].reduce<number | undefined>(
    (latest, { withheld }) =>
      withheld?.sweep === undefined ? latest : Math.max(latest ?? 0, withheld.sweep),
    undefined,
  );
  for (const [member, change] of [
    [before, -1],
    [after, 1],
  ] as const) {
    if (member === undefined || member.removedAt !== undefined) continue;
    add(figures, 'members', change);
    for (const { id, granted, withheld } of member.roles) {
      if (granted) add(figures, `holders/${id}`, change);
      if (withheld !== undefined && withheld.sweep === undefined) add(figures, `held/${id}`, change);
      if (withheld?.sweep !== undefined && withheld.sweep === sweep) add(tally, `revocations/${id}`, change);
    }
  }
  const revoked = after.roles.flatMap(({ id, granted, since }) => {
    // A rebuild knows no verdict before; a role that a check decides for the first time was not taken away.
    const wasGranted = before === undefined || before.roles.some((role) => role.id === id && role.granted);
    return !granted && wasGranted && after.sequence > 1 ? [[id, Date.parse(since)] as const] : [];
  });
  return { figures, sweep, tally, revoked };
}
