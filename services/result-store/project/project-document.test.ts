import type { WatchMember } from '#shared/contracts/watches/watch.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import { aMember } from '../../../test/support/builders/a-watch.ts';
import { followMembers, makeProjector } from './project-document.ts';

type Document = { id: string; version: number; by?: string };

function makeView() {
  let stored: Document | undefined;
  const published: Document[] = [];
  const handle = makeProjector<Document>({
    project: async (document) => {
      if (stored && stored.version >= document.version) return false;
      stored = document;
      return true;
    },
    read: async () => stored,
    publish: async (document) => void published.push(document),
  });
  return {
    handle: (version: number, by?: string) =>
      handle({ id: 'a', version, ...(by && { by }) }, {} as RecordContext),
    published,
    view: () => stored,
  };
}

test('an older document changes nothing, and the newest is published behind it', async () => {
  const { handle, published, view } = makeView();
  await handle(2);
  await handle(1);
  expect(view()?.version).toBe(2);
  expect(published).toEqual([{ id: 'a', version: 2 }]);
});

test('a repeated document is not published again, which would loop for ever', async () => {
  const { handle, published } = makeView();
  await handle(2);
  await handle(2);
  expect(published).toEqual([]);
});

test('of two documents of one version the first stays, and is published behind the other', async () => {
  const { handle, published, view } = makeView();
  await handle(2, 'first');
  await handle(2, 'late');
  expect(view()?.by).toBe('first');
  expect(published).toEqual([{ id: 'a', version: 2, by: 'first' }]);
});

test('behind an older record of a member its newest version is published, and behind that one nothing', async () => {
  const [older, newer] = [aMember({ version: 1 }), aMember({ version: 2 })];
  const published: WatchMember[] = [];
  const { handle } = followMembers(
    { readNewer: async ({ version }) => (version < 2 ? newer : undefined), readMany: async () => [newer] },
    async (member) => void published.push(member),
  );
  for (const member of [older, newer]) await handle(member, {} as RecordContext);
  expect(published).toEqual([newer]);
});
