import type { RolesChanged, WatchHeld, WatchRecovered, WatchStalled } from '#shared/client/api-types.ts';

/** The body of a webhook of a watch. */
export type Event = RolesChanged | WatchHeld | WatchStalled | WatchRecovered;

/** Whether the chains of an event can be read. */
const SIGHTS = {
  'watch.stalled': { tone: 'warn', text: 'cannot be read' },
  'watch.recovered': { tone: 'good', text: 'can be read again' },
};

/**
 * The chains of an event about the watch, or the roles of an event that were gained, lost, or decided
 * for the first time; roles that have not changed are left out.
 *
 * @example
 * summariseRoles({ type: 'roles.changed', roles: [{ id: 'vip', granted: true, before: false }] });
 * // [{ id: 'vip', tone: 'good', text: 'Gained' }]
 */
export function summariseRoles(event: Event): { id: string; tone: string; text: string }[] {
  switch (event.type) {
    case 'watch.stalled':
    case 'watch.recovered':
      return event.chains.map(({ chainId }) => ({ id: `Chain ${chainId}`, ...SIGHTS[event.type] }));
    case 'watch.held':
      return event.roles.map(({ id, holders, revocations }) => ({
        id,
        tone: 'warn',
        text: `${revocations} of ${holders} would lose`,
      }));
    case 'roles.changed':
      return event.roles
        .filter(({ granted, before }) => granted !== before)
        .map(({ id, granted, before }) => {
          if (granted) return { id, tone: 'good', text: 'Gained' };
          return before === null ? { id, tone: 'quiet', text: 'Without' } : { id, tone: 'bad', text: 'Lost' };
        });
    default:
      return [];
  }
}
