import type { Redis } from '#shared/redis/connect.ts';
import { makeVersionedDocuments } from './versioned-documents.ts';

type Document = { id: string; version: number; deletedAt?: string };

const stored = (document: Document): string => `${document.version} ${JSON.stringify(document)}`;

/** Redis with the ids of a set, and with these texts when the documents are read. */
const aRedis = (ids: readonly string[], texts: readonly string[]) =>
  ({
    options: {},
    evalsha: async (_hash: string, _keyCount: number, ...args: unknown[]) =>
      args.includes('BYLEX') ? ids : texts,
  }) as unknown as Redis;

const aView = (redis: Redis) =>
  makeVersionedDocuments<Document>(redis, {
    key: 'documents',
    parse: (json) => json as Document,
    idOf: ({ id }) => id,
    channel: 'changed',
  });

test('a list leaves out a document that is deleted or erased between its id and its text, and goes on behind it', async () => {
  const texts = [
    stored({ id: 'a', version: 1 }),
    stored({ id: 'b', version: 2, deletedAt: '2026-11-22T12:00:00.000Z' }),
    '',
  ];
  const page = { countMax: 3 };
  const { documents, next } = await aView(aRedis(['a', 'b', 'c', 'd'], texts)).listOwned('ids', 'app', page);
  expect(documents.map(({ id }) => id)).toEqual(['a']);
  expect(next).toBe('c');
});
