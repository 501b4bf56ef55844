/**
 * The verdict on each role of a result, as a Map: `true` held, `false` not held, `undefined` could
 * not be read, which is not a “no”: leave such a role as it is.
 *
 * Several rules may name one role. It is held if any of them is granted, unknown if none is and any
 * could not be read, and otherwise not held. Of a check with `onUndetermined: "deny"`, pass
 * `{ roles, errors: [] }`: there a rule that could not be read is a denial.
 */
export function foldRoles({ roles, errors }) {
  const held = new Map();
  // An error about a sign-in names a wallet and no role.
  for (const { roleId } of errors) if (roleId !== undefined) held.set(roleId, undefined);
  for (const { id, granted } of roles) if (granted || !held.has(id)) held.set(id, granted);
  return held;
}
