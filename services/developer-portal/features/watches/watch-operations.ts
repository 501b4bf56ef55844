import { z } from 'zod';
import { PresentedMember, PresentedWatch } from '#shared/contracts/watches/presented-watch.ts';
import { next, page } from '../../http/api.ts';
import type { Declaration } from '../../http/operation.ts';
import { WatchEventAnswer } from './read-watch-events.ts';

/** An app's watches. Clients make them by the API; here a developer looks at them and releases held
 * revocations. */
export const WATCH_OPERATIONS = {
  listWatches: {
    call: 'GET /api/apps/:clientId/watches',
    summary: 'The watches of an app',
    isHeavy: true,
    answer: z.object({ watches: z.array(PresentedWatch) }),
  },
  readWatch: {
    call: 'GET /api/apps/:clientId/watches/:watchId',
    summary: 'One watch: its state, and how its contracts are followed',
    answer: PresentedWatch,
  },
  listWatchMembers: {
    call: 'GET /api/apps/:clientId/watches/:watchId/members',
    summary: 'Members with their roles, by ref or account',
    query: z.strictObject(page),
    answer: z.object({ members: z.array(PresentedMember), next }),
  },
  listWatchEvents: {
    call: 'GET /api/apps/:clientId/watches/:watchId/events',
    summary:
      'Events of the last 72 hours, newest first, among the newest 10 000 webhooks of the app, or of one member',
    /** `member`: the ref or account of a member, for its events alone. */
    query: z.strictObject({ member: z.string().min(1).max(128).optional(), ...page }),
    isHeavy: true,
    answer: z.object({ events: z.array(WatchEventAnswer), next }),
  },
  releaseWatch: {
    call: 'POST /api/apps/:clientId/watches/:watchId/release',
    needs: 'active',
    summary: 'Send the revocations that are held',
    answer: PresentedWatch,
  },
} as const satisfies Record<string, Declaration>;
