import type { WatchMember } from '#shared/contracts/watches/watch.ts';

/** A member as clients see it. */
export function presentMember(member: WatchMember): Record<string, unknown> {
  const { account, accounts, vaults, ref, roles, sequence, addedAt, checkedAt, blockNumbers, errors } =
    member;
  const since = roles.reduce((latest, role) => [role.since, latest].sort().at(-1) ?? '', '');
  return {
    ...(accounts === undefined ? { account } : { accounts }),
    ...(vaults === undefined ? {} : { vaults }),
    ...(ref === undefined ? {} : { ref }),
    roles: roles.map(({ id, granted, since, withheld }) => ({
      id,
      granted,
      since,
      ...(withheld === undefined ? {} : { revocationHeld: true }),
    })),
    sequence,
    addedAt,
    ...(since === '' ? {} : { since }),
    ...(checkedAt === undefined ? {} : { checkedAt }),
    blockNumbers,
    errors,
  };
}
