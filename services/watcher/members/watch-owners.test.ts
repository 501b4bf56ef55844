import { type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import { aWatch } from '../../../test/support/builders/a-watch.ts';
import { makeOwnerOf } from './watch-owners.ts';

test('the account of an app is read once, however many watches it has, and watches that are gone share one turn', async () => {
  const watches = [0, 1].map((i) => aWatch({ clientId: 'app', watchId: `w${i}`, accountId: 'acc' }));
  const read: string[] = [];
  const ownerOf = makeOwnerOf({
    async readByUid(uid: string): Promise<Watch | undefined> {
      read.push(uid);
      return watches.find((watch) => watchUid(watch) === uid);
    },
  });
  const uids = watches.map(watchUid);
  const owners = [];
  for (const uid of [...uids, 'other/w/1', 'another/w/1']) owners.push(await ownerOf(uid));
  const owner = { accountId: 'acc', clientId: 'app' };
  expect(owners).toEqual([owner, owner, '', '']);
  expect(read).toEqual([uids[0], 'other/w/1', 'another/w/1']);
});
