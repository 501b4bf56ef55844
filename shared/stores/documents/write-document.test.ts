import { account } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { type DocumentStore, makeWriteDocument } from './write-document.ts';

type Document = { id: string; version: number; seen: string[] };

const LEASE_MS = 10_000;

afterEach(() => void jest.restoreAllMocks());

/** A view whose leases are as the real ones: given only behind the version that is there, each
 * version once. */
function makeSystem(publish: () => Promise<void> = async () => undefined) {
  let stored: Document | undefined;
  let [nowMs, lastLeased] = [0, 0];
  const leased = new Set<number>();
  const published: Document[] = [];
  const store: DocumentStore<Document> = {
    topic: account as never,
    read: async () => stored,
    async lease(_id, before) {
      if ((stored?.version ?? 0) !== before || leased.has(before)) return undefined;
      leased.add(before);
      lastLeased = Math.max(before, lastLeased) + 1;
      return { version: lastLeased, release: async () => leased.delete(before) };
    },
    async project(document) {
      if (stored && stored.version >= document.version) return false;
      stored = document;
      return true;
    },
  };
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  jest.spyOn(Math, 'random').mockReturnValue(0);
  const write = makeWriteDocument({
    publish: async (_topic, message) => {
      await publish();
      published.push(message as Document);
    },
  });
  const add = (by: string) =>
    write(store, 'a', (current) => ({ id: 'a', version: 0, seen: [...(current?.seen ?? []), by] }));
  const expireLeases = () => {
    nowMs += LEASE_MS + 1;
    leased.clear();
  };
  return { store, write, add, expireLeases, published, leased, view: () => stored };
}

test('concurrent writers lose no change, and each version is published once', async () => {
  const { add, published, view } = makeSystem();
  const names = Array.from({ length: 20 }, (_, i) => `writer ${i}`);
  await Promise.all(names.map(add));
  expect(view()?.seen.toSorted()).toEqual(names.toSorted());
  expect(published.map(({ version }) => version)).toEqual(names.map((_, i) => i + 1));
});

test('a change that returns nothing writes nothing and reports `changed: false`', async () => {
  const { store, write, add, published } = makeSystem();
  await expect(write(store, 'a', () => undefined)).resolves.toBeUndefined();
  await add('one');
  await expect(write(store, 'a', () => undefined)).resolves.toMatchObject({ changed: false });
  expect(published).toHaveLength(1);
});

test('a write that certainly failed releases its version; a write of unknown outcome keeps it', async () => {
  for (const [code, isFree] of [
    ['broker-unavailable', true],
    ['publish-unknown', false],
  ] as const) {
    const { add, leased, view } = makeSystem(() => Promise.reject(new ServiceError(code, 'away')));
    await expect(add('one')).rejects.toMatchObject({ code });
    expect([code, leased.has(0)]).toEqual([code, !isFree]);
    expect(view()).toBeUndefined();
  }
});

test('a writer whose lease expired applies its change to the document of the next writer', async () => {
  const others: (() => Promise<void>)[] = [];
  const { add, expireLeases, published, view } = makeSystem(async () => {
    await others.shift()?.();
  });
  others.push(async () => {
    expireLeases();
    await add('other');
  });
  await expect(add('slow')).resolves.toMatchObject({ changed: true });
  expect(view()?.seen).toEqual(['other', 'slow']);
  // No version twice: of two documents of one version a rebuild could not tell which one was
  // acknowledged.
  expect(published.map(({ version }) => version)).toEqual([2, 1, 3]);
});

test('a write succeeds if the projector applied its document first', async () => {
  const { store, add, published } = makeSystem();
  const { project } = store;
  Object.assign(store, {
    project: async (document: Document) => {
      await project(JSON.parse(JSON.stringify(document)));
      return project(document);
    },
  });
  await expect(add('one')).resolves.toMatchObject({ changed: true });
  expect(published).toHaveLength(1);
});

test('a write succeeds if a newer document was made from it during its lease', async () => {
  const { store, add, view } = makeSystem();
  const { project } = store;
  const projectBehind = async (document: Document) => {
    Object.assign(store, { project });
    await project(document);
    await add('next');
    return project(document);
  };
  Object.assign(store, { project: projectBehind });
  await expect(add('one')).resolves.toMatchObject({ changed: true });
  expect(view()?.seen).toEqual(['one', 'next']);
});
