import { z } from 'zod';
import { next, PageLimit, page } from '../../http/api.ts';
import { APP, type Operation, READ, WRITE } from '../../http/operation.ts';
import { WatchEventAnswer } from './read-watch-events.ts';

const WATCHES = `${APP}/watches` as const;

const Following = z.object({
  chainId: z.number(),
  contractAddress: z.string(),
  state: z.enum(['live', 'sweeps-only']),
  reason: z.string().optional(),
});
const WatchAnswer = z
  .object({
    watchId: z.string(),
    version: z.number(),
    state: z.enum(['active', 'paused', 'held']),
    /** Why it is paused. */
    reason: z.string().optional(),
    /** Roles whose revocations are held. */
    held: z.array(z.string()),
    /** Chains that cannot be read for it, and since when. */
    stalled: z.array(z.object({ chainId: z.number(), since: z.string() })).optional(),
    members: z.number(),
    following: z.array(Following),
    ruleSet: z.string(),
    callbackUrl: z.string(),
    everySeconds: z.number(),
  })
  .loose()
  .meta({ id: 'Watch' });
const WatchMemberAnswer = z
  .object({
    account: z.string().optional(),
    accounts: z.array(z.string()).optional(),
    ref: z.string().optional(),
    roles: z.array(
      z.object({
        id: z.string(),
        granted: z.boolean(),
        since: z.string(),
        revocationHeld: z.boolean().optional(),
      }),
    ),
    vaults: z.array(z.string()).optional(),
    /** Revocations in their grace. */
    pending: z.array(z.object({ id: z.string(), since: z.string() })).optional(),
    sequence: z.number(),
    checkedAt: z.string().optional(),
    blockNumbers: z.record(z.string(), z.number()),
    /** Of the last check. */
    errors: z.array(z.object({ roleId: z.string(), message: z.string() })),
  })
  .loose()
  .meta({ id: 'WatchMember' });

/** An app's watches. Clients make them by the API; here a developer looks at them and releases held
 * revocations. */
export const WATCH_OPERATIONS = {
  listWatches: {
    ...READ,
    path: WATCHES,
    summary: 'The watches of an app',
    isHeavy: true,
    answer: z.object({ watches: z.array(WatchAnswer) }),
  },
  readWatch: {
    ...READ,
    path: `${WATCHES}/:watchId`,
    summary: 'One watch: its state, and how its contracts are followed',
    answer: WatchAnswer,
  },
  listWatchMembers: {
    ...READ,
    path: `${WATCHES}/:watchId/members`,
    summary: 'Members with their roles, by ref or account',
    /** `after` is the `next` of the page before. */
    query: z.strictObject({ after: z.string().min(1).max(128).optional(), limit: PageLimit }),
    answer: z.object({ members: z.array(WatchMemberAnswer), next }),
  },
  listWatchEvents: {
    ...READ,
    path: `${WATCHES}/:watchId/events`,
    summary:
      'Events of the last 72 hours, newest first, among the newest 10 000 webhooks of the app, or of one member',
    /** `member`: the ref or account of a member, for its events alone. */
    query: z.strictObject({ member: z.string().min(1).max(128).optional(), ...page }),
    isHeavy: true,
    answer: z.object({ events: z.array(WatchEventAnswer), next }),
  },
  releaseWatch: {
    needs: 'active',
    ...WRITE,
    path: `${WATCHES}/:watchId/release`,
    summary: 'Send the revocations that are held',
    answer: WatchAnswer,
  },
} as const satisfies Record<string, Operation>;

export type WatchAnswer = z.infer<typeof WatchAnswer>;
export type WatchMemberAnswer = z.infer<typeof WatchMemberAnswer>;
