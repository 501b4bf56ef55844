import { setImmediate as nextTick } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import express from 'express';
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
