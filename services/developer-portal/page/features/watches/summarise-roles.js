/**
 * The chains of an event about the watch, or the roles of an event that were gained, lost, or decided for the first time; roles that have not
 * changed are left out.
 * @param {{ type: string, roles?: readonly any[], chains?: readonly any[] }} event the body of a webhook of a watch
 * @returns {{ id: string, tone: string, text: string }[]}
 *
 * @example
 * summariseRoles({ type: 'roles.changed', roles: [{ id: 'vip', granted: true, before: false }] });
 * // [{ id: 'vip', tone: 'good', text: 'Gained' }]
 */
export function summariseRoles({ type, roles = [], chains = [] }) {
  if (type === 'watch.stalled' || type === 'watch.recovered')
    return chains.map(({ chainId }) => ({
      id: `Chain ${chainId}`,
      ...(type === 'watch.stalled'
        ? { tone: 'warn', text: 'cannot be read' }
        : { tone: 'good', text: 'can be read again' }),
    }));
  if (type === 'watch.held')
    return roles.map(({ id, holders, revocations }) => ({
      id,
      tone: 'warn',
      text: `${revocations} of ${holders} would lose`,
    }));
  return roles
    .filter(({ granted, before }) => granted !== before)
    .map(({ id, granted, before }) => {
      if (granted) return { id, tone: 'good', text: 'Gained' };
      return before === null ? { id, tone: 'quiet', text: 'Without' } : { id, tone: 'bad', text: 'Lost' };
    });
}
