export type RoleOutcome = 'granted' | 'denied' | 'undetermined';

/**
 * One outcome per role, where several rules may name the same one: granted if any of them is
 * granted, undetermined if none is granted and any could not be read, otherwise denied. In the
 * order in which `roles` and `errors` name them.
 *
 * @example
 * foldRoles({ roles: [{ id: 'a', granted: false }], errors: [{ roleId: 'a' }] }).get('a'); // 'undetermined'
 */
export function foldRoles(result: {
  readonly roles: readonly { readonly id: string; readonly granted: boolean }[];
  /** Those that name a wallet name no role. */
  readonly errors: readonly ({ readonly roleId: string } | { readonly account: string })[];
}): Map<string, RoleOutcome> {
  const outcomes = new Map<string, RoleOutcome>();
  for (const { id, granted } of result.roles)
    if (granted || !outcomes.has(id)) outcomes.set(id, granted ? 'granted' : 'denied');
  for (const fault of result.errors)
    if ('roleId' in fault && outcomes.get(fault.roleId) !== 'granted')
      outcomes.set(fault.roleId, 'undetermined');
  return outcomes;
}
