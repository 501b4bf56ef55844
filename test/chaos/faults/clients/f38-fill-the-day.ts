import { randomUUID } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BATCH_LIMITS } from '#shared/contracts/batches/batch.ts';
import { makeAccountBytes } from '#shared/fairness/account-bytes.ts';
import { receiveWebhooks } from '../../../support/fakes/receive-webhooks.ts';
import { makeBatchClient } from '../../../support/systems/batch-client.ts';
import { makeCheckClient } from '../../../support/systems/check-client.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { atLeast, atMost } from '../../judges/measure.ts';
import { type Credentials, createApp } from '../../system/create-app.ts';

const MIB = 1024 * 1024;
/** Of the free tier. */
const APPS = 5;
const INTERVAL_MS = 100;
const BATCH_ENTRIES = BATCH_LIMITS.free.entries;
const BATCH_MS_MAX = 60_000;
const FILL_MS_MAX = 180_000;
/** Of the process's own: commits of offsets, positions, figures of the load's app. */
const KAFKA_NOISE_MIB = 1;
const REDIS_NOISE_MIB = 4;
/** The answer that takes most bytes in a record: each character is escaped. */
const LARGEST_ANSWER = '\u0001'.repeat(4_096);
const FAR_AHEAD = 9_000_000_000_000;
const LARGEST_ID = 2n ** 256n - 1n;

/** One account with all that its tier allows; the load, of another account, is small. */
export const f38FillTheDay: Fault = {
  id: 'F38',
  title:
    'one free account writes all that its limits allow, with the largest bodies, batches and answers of receivers',
  perSecond: 2,
  // Its webhooks stay pending for hours after the row.
  isDestructive: true,
  async run({ system, app: other, seconds, rest, scope }) {
    const { chain, open } = system;
    const email = `${randomUUID()}@localhost`;
    const apps: Credentials[] = [];
    for (let i = 0; i < APPS; i += 1) apps.push(await createApp(system, `Filler ${i}`, 'free', email));
    const [first] = apps;
    const { read } = makeAccountBytes(open.redis);
    const receiver = scope.use(
      await receiveWebhooks({
        // Half of the webhooks are retried, and no breaker opens.
        answer: (_, response, place) => void response.writeHead(place % 2 ? 500 : 200).end(LARGEST_ANSWER),
      }),
    );
    const urlOf = (place: number): string => system.gateways[place % system.gateways.length]?.url ?? '';
    const measure = async () => ({
      kafka: logBytesOf(system.dataDir),
      redis: Number(/^used_memory:(\d+)/m.exec(await open.redis.info('memory'))?.[1] ?? 0),
      account: await read(first?.clientId ?? ''),
      others: (await read(other.clientId)).bytes,
    });

    /** Each app sends at its rate until the time is over or its account is refused; returns how
     * many are. */
    const fill = async (bodyOf: () => object, msMax: number): Promise<number> => {
      const until = Date.now() + msMax;
      const refused = apps.map(async ({ apiKey }, place) => {
        const client = makeCheckClient({ url: urlOf(place), apiKey });
        while (Date.now() < until) {
          const answer = await client.check(bodyOf()).catch(() => undefined);
          if (answer?.status === 429 && answer.text.includes('bytes-per-day')) return true;
          await delay(INTERVAL_MS);
        }
        return false;
      });
      return (await Promise.all(refused)).filter(Boolean).length;
    };

    const batchRules = Array.from({ length: 100 }, (_, i) => ({
      ...{ type: 'NATIVE', chainId: chain.chainId, minToken: `${i + 1}` },
      roleId: '🎟'.repeat(128),
    }));
    const accounts = Array.from(
      { length: BATCH_ENTRIES },
      (_, i) => `0x${(i + 1).toString(16).padStart(40, '0')}`,
    );
    const sendBatch = (place: number) =>
      makeBatchClient({ url: urlOf(place), apiKey: apps[place % APPS]?.apiKey ?? '' }).post(
        { rules: batchRules, callbackUrl: receiver.url },
        accounts,
      );

    const before = await measure();
    const batch = makeBatchClient({ url: urlOf(0), apiKey: first?.apiKey ?? '' });
    await batch.wait(await sendBatch(0), BATCH_MS_MAX);
    await rest(1_000);
    const bytesOfBatch = (await measure()).account.bytes;
    const small = {
      account: chain.stranger,
      async: true,
      callbackUrl: receiver.url,
      rules: batchRules.slice(0, 1),
    };
    await fill(() => small, (seconds * 1_000) / 2);
    const unfinished = APPS * BATCH_LIMITS.free.unfinished;
    await Promise.all(
      Array.from({ length: unfinished }, (_, place) => sendBatch(place).catch(() => undefined)),
    );
    const refusedApps = await fill(() => largestCheck(chain, receiver.url), FILL_MS_MAX);
    await rest(seconds * 1_000);
    await waitUntil('the batches to end', async () => (await open.batches.countUnfinished(Date.now())) === 0);
    const after = await measure();

    return () => {
      const { bytes, bytesMax } = after.account;
      const others = after.others - before.others;
      const boundMib = (bytesMax + unfinished * bytesOfBatch) / MIB;
      const kafkaMib = (after.kafka - before.kafka - others) / MIB;
      const redisMib = (after.redis - before.redis - others) / MIB;
      const figures = [
        atLeast('counted for the account', bytes / MIB, bytesMax / MIB, 'MiB'),
        atMost("the account's growth of Kafka, per replica", kafkaMib, boundMib + KAFKA_NOISE_MIB, 'MiB'),
        atMost("the account's growth of Redis", redisMib, boundMib + REDIS_NOISE_MIB, 'MiB'),
        atMost('counted beyond the sum', (bytes - bytesMax) / MIB, (unfinished * bytesOfBatch) / MIB, 'MiB'),
        atLeast('apps refused with bytes-per-day', refusedApps, APPS),
        atLeast('answers of 4 KiB', receiver.deliveries.length, 1),
      ];
      return {
        figures,
        broken: figures.filter(({ met }) => !met).map(({ what, measured }) => `${what}: ${measured}`),
      };
    };
  },
};

/** Twelve tokens with 256 ids of 78 digits each, at a block that is far ahead: it ends at once. */
const largestCheck = (
  { chainId, erc1155, stranger }: { chainId: number; erc1155: string; stranger: string },
  callbackUrl: string,
) => ({
  ...{ account: stranger, async: true, callbackUrl, consistency: { minBlock: { [chainId]: FAR_AHEAD } } },
  rules: [
    {
      ...{ type: 'ANY', roleId: randomUUID() },
      rules: Array.from({ length: 12 }, (_, n) => ({
        ...{ type: 'ERC1155', chainId, contractAddress: erc1155 },
        tokenId: Array.from({ length: 256 }, (_, i) => String(LARGEST_ID - BigInt(n * 1_000 + i))).join(','),
      })),
    },
  ],
});

/** The bytes of all segments of the topics, without those of Kafka itself and the published
 * totals. */
function logBytesOf(dir: string): number {
  let bytes = 0;
  for (const entry of readdirSync(dir, { withFileTypes: true, recursive: true }))
    if (/^\d{20}\.log$/.test(entry.name) && !/^(__|usage\.)/.test(basename(entry.parentPath)))
      bytes += statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
  return bytes;
}
