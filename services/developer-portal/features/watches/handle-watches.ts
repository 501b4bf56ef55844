import { type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import { presentMember } from '#shared/stores/watches/present-watch.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Call, Handlers } from '../../http/operations.ts';
import { existing } from '../basis.ts';
import type { WATCH_OPERATIONS } from './watch-operations.ts';

/** Watches that are listed; only enterprise accounts may have more. */
const LISTED_MAX = 1_000;

type Ids = keyof typeof WATCH_OPERATIONS;

export function makeWatchHandlers({
  watches,
  watchMembers,
  readWatchEvents,
  watchWrites,
}: Dependencies): Handlers<Ids> {
  const ownWatch = async ({ app, param }: Pick<Call<Ids>, 'app' | 'param'>): Promise<Watch> =>
    existing(await watches.read(app.clientId, param('watchId')), 'there is no such watch');
  return {
    async listWatches({ app: { clientId } }) {
      const page = await watches.list(clientId, { countMax: LISTED_MAX });
      return { watches: await watchWrites.presentMany(page.watches) };
    },
    readWatch: async (call) => watchWrites.present(await ownWatch(call)),
    async listWatchMembers(call) {
      const { after, limit: countMax } = call.query;
      const { members, next } = await watchMembers.page(watchUid(await ownWatch(call)), { after, countMax });
      return { members: members.map(presentMember), next };
    },
    async listWatchEvents(call) {
      const { member, after: before, limit: countMax } = call.query;
      return readWatchEvents(await ownWatch(call), { member, before, countMax });
    },
    async releaseWatch(call) {
      const { clientId, accountId, watchId } = await ownWatch(call);
      const actor = call.account.accountId;
      return watchWrites.present(await watchWrites.release({ clientId, accountId, watchId, actor }));
    },
  };
}
