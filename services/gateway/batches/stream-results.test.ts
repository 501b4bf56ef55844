import { setImmediate as nextTick } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import express from 'express';
import { ServiceError } from '#shared/errors.ts';
import { serveOnLoopback } from '../../../test/support/fakes/serve-on-loopback.ts';
import { makeStreamResults } from './stream-results.ts';

const APP = { accountId: 'acc', clientId: 'app' };
const DOWNLOADS = 5;
const LINES = 4;

test('of all downloads one part is read at a time, so that many leave the CPU to other requests', async () => {
  let [reading, readingMost, partCount] = [0, 0, 0];
  const streamResults = makeStreamResults({
    async readPart(_, firstIndex) {
      reading += 1;
      readingMost = Math.max(readingMost, reading);
      await nextTick();
      reading -= 1;
      partCount += 1;
      return { firstIndex, lineCount: 1, gzip: gzipSync(`${firstIndex}\n`) };
    },
  });
  const app = express().get('/', (request, response) =>
    streamResults({ app: APP, requestId: 'r', from: 0, to: LINES }, request, response, {}),
  );
  await using server = await serveOnLoopback(app);
  const download = async () => (await fetch(server.url)).text();
  const texts = await Promise.all(Array.from({ length: DOWNLOADS }, download));
  expect(texts).toEqual(Array(DOWNLOADS).fill('0\n1\n2\n3\n'));
  expect([readingMost, partCount]).toEqual([1, DOWNLOADS * LINES]);
});

test.each([0, 1])(
  'results of which part %i cannot be read are refused before the first part, and cut after it',
  async (lost) => {
    const failed = Promise.withResolvers<unknown>();
    const streamResults = makeStreamResults({
      async readPart(_, firstIndex) {
        if (firstIndex === lost) throw new ServiceError('store-unavailable', 'away');
        return { firstIndex, lineCount: 1, gzip: gzipSync(`${firstIndex}\n`) };
      },
    });
    const app = express().get('/', (request, response) =>
      streamResults({ app: APP, requestId: 'r', from: 0, to: LINES }, request, response, {}).catch(
        (error: unknown) => {
          failed.resolve(error);
          if (!response.headersSent) response.status(503).end();
        },
      ),
    );
    await using server = await serveOnLoopback(app);
    const outcome = await fetch(server.url)
      .then(async (response) => [response.status, await response.text()])
      .catch(() => 'cut');
    expect(outcome).toEqual(lost === 0 ? [503, ''] : 'cut');
    expect(await failed.promise).toMatchObject({ code: 'store-unavailable' });
  },
);
