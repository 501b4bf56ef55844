import { account } from '#shared/contracts/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { type DocumentStore, makeWriteDocument } from './write-document.ts';

type Document = { id: string; version: number; seen: string[] };

/** A view whose leases are as the real ones: given only behind the version that is there. */
function makeSystem(publish: () => Promise<void> = async () => undefined) {
  let stored: Document | undefined;
  const leased = new Set<number>();
  const published: Document[] = [];
  const store: DocumentStore<Document> = {
    topic: account as never,
    read: async () => stored,
    async lease(_id, before) {
      if ((stored?.version ?? 0) !== before || leased.has(before + 1)) return undefined;
      leased.add(before + 1);
      return async () => leased.delete(before + 1);
    },
    async project(document) {
      stored = document;
      return true;
    },
  };
  const write = makeWriteDocument({
    random: () => 0,
    publish: async (_topic, message) => {
      await publish();
      published.push(message as Document);
    },
  });
  const add = (by: string) =>
    write(store, 'a', (current) => ({ id: 'a', version: 0, seen: [...(current?.seen ?? []), by] }));
  return { store, write, add, published, leased, view: () => stored };
}

test('of many writers at once none loses its change, and each version is published once', async () => {
  const { add, published, view } = makeSystem();
  const names = Array.from({ length: 20 }, (_, i) => `writer ${i}`);
  await Promise.all(names.map(add));
  expect(view()?.seen.toSorted()).toEqual(names.toSorted());
  expect(published.map(({ version }) => version)).toEqual(names.map((_, i) => i + 1));
});

test('a change of nothing writes nothing, and says so', async () => {
  const { store, write, add, published } = makeSystem();
  await expect(write(store, 'a', () => undefined)).resolves.toBeUndefined();
  await add('one');
  await expect(write(store, 'a', () => undefined)).resolves.toMatchObject({ changed: false });
  expect(published).toHaveLength(1);
});

test('what surely was not written frees its version; what may have been keeps it', async () => {
  for (const [code, isFree] of [
    ['broker-unavailable', true],
    ['publish-unknown', false],
  ] as const) {
    const { add, leased, view } = makeSystem(() => Promise.reject(new ServiceError(code, 'away')));
    await expect(add('one')).rejects.toMatchObject({ code });
    expect([code, leased.has(1)]).toEqual([code, !isFree]);
    expect(view()).toBeUndefined();
  }
});
