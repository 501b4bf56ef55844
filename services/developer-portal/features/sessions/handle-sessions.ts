import { ServiceError } from '#shared/errors.ts';
import type { Handlers } from '../../http/call.ts';
import { type Sessions, sessionIdOf } from './sessions.ts';

type Dependencies = { readonly sessions: Pick<Sessions, 'list' | 'end' | 'endOthers'> };

/** An account's view of its own sessions. */
export function makeSessionHandlers({
  sessions,
}: Dependencies): Handlers<'listSessions' | 'endSession' | 'endOtherSessions'> {
  return {
    async listSessions({ account, token = '' }) {
      const own = sessionIdOf(token);
      const found = await sessions.list(account);
      return found.map((session) => ({ ...session, current: session.sessionId === own }));
    },
    async endSession({ account, param }) {
      if (!(await sessions.end(account, param('sessionId'))))
        throw new ServiceError('not-found', 'there is no such session');
      return undefined;
    },
    async endOtherSessions({ account, token = '' }) {
      await sessions.endOthers(account, token);
      return undefined;
    },
  };
}
