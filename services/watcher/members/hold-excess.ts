import { type Watch, type WatchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { revocationsOf } from '../domain/apply-check.ts';
import { countHeld } from '../domain/count-held.ts';
import type { MemberCheck } from '../domain/judge-age.ts';

type Dependencies = {
  readonly members: Pick<WatchMembers, 'figures' | 'mayRevoke'>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** By member id, the roles whose revocation would exceed the bound on revocations per hour. */
export async function holdExcess(
  { members: view, now }: Dependencies,
  watch: Watch,
  members: readonly WatchMember[],
  checks: ReadonlyMap<string, MemberCheck>,
): Promise<Map<string, Set<string>>> {
  const byRole = new Map<string, string[]>();
  for (const member of members) {
    const check = checks.get(member.memberId);
    for (const roleId of check ? revocationsOf(member, check) : [])
      byRole.set(roleId, [...(byRole.get(roleId) ?? []), member.memberId]);
  }
  const excess = new Map<string, Set<string>>();
  if (byRole.size === 0) return excess;
  const uid = watchUid(watch);
  const { holders, held } = await view.figures(uid);
  for (const [roleId, memberIds] of byRole) {
    const allowed = await view.mayRevoke(uid, roleId, memberIds, {
      nowMs: now(),
      holders: holders.get(roleId) ?? 0,
      held: countHeld(watch, held, roleId),
      ...watch.massRevocation,
    });
    for (const memberId of memberIds.filter((id) => !allowed.has(id)))
      excess.set(memberId, new Set([...(excess.get(memberId) ?? []), roleId]));
  }
  return excess;
}
