import type { RuleDetail } from '#shared/contracts/checks/result.ts';

type Summary = { id: string; tone: string; text: string };
type Role = {
  id: string;
  granted?: boolean;
  before?: boolean | null;
  holders?: number;
  revocations?: number;
};

/** The body of a webhook of a watch. */
export type Event = {
  type: string;
  roles?: readonly Role[];
  chains?: readonly { chainId: number }[];
  ref?: string;
  account?: string;
  accounts?: string[];
  sequence?: number;
  cause?: string;
  details?: readonly RuleDetail[];
  blockNumbers?: Record<string, number>;
  transfer?: { transactionHash: string };
};

/**
 * The chains of an event about the watch, or the roles of an event that were gained, lost, or decided
 * for the first time; roles that have not changed are left out.
 *
 * @example
 * summariseRoles({ type: 'roles.changed', roles: [{ id: 'vip', granted: true, before: false }] });
 * // [{ id: 'vip', tone: 'good', text: 'Gained' }]
 */
export function summariseRoles({ type, roles = [], chains = [] }: Event): Summary[] {
  const chainsAs = (summary: Omit<Summary, 'id'>) =>
    chains.map(({ chainId }) => ({ id: `Chain ${chainId}`, ...summary }));
  if (type === 'watch.stalled') return chainsAs({ tone: 'warn', text: 'cannot be read' });
  if (type === 'watch.recovered') return chainsAs({ tone: 'good', text: 'can be read again' });
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
