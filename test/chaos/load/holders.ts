import { setTimeout as delay } from 'node:timers/promises';
import { BATCH_PATH, CHECK_PATH, RESPONSES_PATH } from '#shared/contracts/paths.ts';
import { type RawAnswer, sendRaw } from './raw-request.ts';

/** What accounts share, and how a client takes places of it. */
export const SHARED = ['checks', 'polls', 'bodies', 'downloads', 'batches', 'webhooks'] as const;
export type Shared = (typeof SHARED)[number];

/** How many places of each an account tries to hold at each gateway; of webhooks, how many it sends
 * in 10 s. */
export type Wanted = Readonly<Partial<Record<Shared, number>>>;

/** An app, with a finished batch to download where it has one. */
export type HoldingApp = { readonly apiKey: string; readonly batchId?: string };

export type Holder = {
  readonly apps: readonly HoldingApp[];
  readonly urls: readonly string[];
  readonly wanted: Wanted;
  readonly account: string;
  /** A rule at a block that is not mined: a check of it waits for its whole time. */
  readonly waiting: object;
  readonly webhook: { readonly rules: readonly object[]; readonly callbackUrls: readonly string[] };
  readonly entriesOfBatch: number;
};

export type Counts = Record<Shared, { held: number; refused: number }>;

export const noCounts = (): Counts =>
  Object.fromEntries(SHARED.map((kind) => [kind, { held: 0, refused: 0 }])) as Counts;

const NONE: Readonly<Record<Shared, number>> = {
  ...{ checks: 0, polls: 0, bodies: 0 },
  ...{ downloads: 0, batches: 0, webhooks: 0 },
};
/** After a refusal. */
const AGAIN_MS = 5_000;
/** Below the 10 s of the gateway. */
const BODY_MS = 9_000;
/** Below the 30 s after which a client that reads nothing is cut off. */
const UNREAD_MS = 25_000;
const LONG_POLL_S = 25;
/** An answer that is pending and came sooner was not waited for. */
export const AT_ONCE_MS = 1_000;
const WEBHOOKS_INTERVAL_MS = 10_000;

export const isRefused = ({ status, code }: RawAnswer): boolean => status === 503 && code === 'overloaded';
export const wasNotWaitedFor = ({ status, tookMs }: RawAnswer): boolean =>
  status === 202 && tookMs < AT_ONCE_MS;

export const pollOf = (url: string, apiKey: string, requestId: string, waitS: number): Promise<RawAnswer> =>
  sendRaw({
    url: `${url}${RESPONSES_PATH}${requestId}`,
    apiKey,
    headers: { prefer: `wait=${waitS}` },
  });

export const idOf = ({ text }: RawAnswer): string => (JSON.parse(text) as { requestId: string }).requestId;

export const addressOf = (place: number): string => `0x${(place + 1).toString(16).padStart(40, '0')}`;

/** A batch as NDJSON. */
export const sendBatch = (url: string, apiKey: string, head: object, entries: number): Promise<RawAnswer> =>
  sendRaw({
    url: url + BATCH_PATH,
    apiKey,
    headers: { 'content-type': 'application/x-ndjson' },
    body: [head, ...Array.from({ length: entries }, (_, place) => addressOf(place))]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  });

/** Holds as many places as it gets, and tries again for refused ones, until it is
 * aborted. */
export async function holdPlaces(holder: Holder, counts: Counts, signal: AbortSignal): Promise<void> {
  const { apps, urls, account, waiting, webhook, entriesOfBatch } = holder;
  const wanted = { ...NONE, ...holder.wanted };
  const keyOf = (place: number): string => apps[place % apps.length]?.apiKey ?? '';
  const downloading = apps.filter(({ batchId }) => batchId !== undefined);
  const check = (url: string, place: number, body: object) =>
    sendRaw({
      url: url + CHECK_PATH,
      apiKey: keyOf(place),
      body: JSON.stringify({ account, ...body }),
      signal,
    });
  const takes: Record<Exclude<Shared, 'webhooks'>, (url: string, place: number) => Promise<boolean>> = {
    checks: async (url, place) => !isRefused(await check(url, place, waiting)),
    async polls(url, place) {
      const pending = await check(url, place, { ...waiting, async: true });
      if (pending.status !== 202) return !isRefused(pending);
      const polled = await pollOf(url, keyOf(place), idOf(pending), LONG_POLL_S);
      return !isRefused(polled) && !wasNotWaitedFor(polled);
    },
    async bodies(url, place) {
      const answer = await sendRaw({
        ...{ url: url + CHECK_PATH, apiKey: keyOf(place), signal },
        ...{ body: '{"account": ', heldBack: 1, heldBackMs: BODY_MS },
      });
      // It was held for its time if it is refused behind it.
      return !isRefused(answer) || answer.tookMs >= BODY_MS;
    },
    async downloads(url, place) {
      const { apiKey = '', batchId = '' } = downloading[place % downloading.length] ?? {};
      const page = `${url}${BATCH_PATH}/${batchId}/results`;
      return !isRefused(await sendRaw({ url: page, apiKey, unreadMs: UNREAD_MS, signal }));
    },
    batches: async (url, place) =>
      (await sendBatch(url, keyOf(place), waiting, entriesOfBatch)).status === 202,
  };
  const keep = async (kind: keyof typeof takes, url: string, place: number): Promise<void> => {
    while (!signal.aborted) {
      const began = performance.now();
      const isHeld = await takes[kind](url, place);
      // The end of the row cuts the held connections.
      if (signal.aborted && performance.now() - began < AT_ONCE_MS) return;
      counts[kind][isHeld ? 'held' : 'refused'] += 1;
      // A batch stays unfinished for minutes.
      if (isHeld && kind === 'batches') return;
      if (!isHeld) await delay(AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  };
  const sendWebhooks = async (): Promise<void> => {
    for (let place = 0; !signal.aborted; place += 1) {
      const { rules, callbackUrls } = webhook;
      const body = { rules, callbackUrl: callbackUrls[place % callbackUrls.length] };
      void check(urls[place % urls.length] ?? '', place, body).then(({ status }) => {
        if (!signal.aborted) counts.webhooks[status === 202 ? 'held' : 'refused'] += 1;
      });
      await delay(WEBHOOKS_INTERVAL_MS / wanted.webhooks, undefined, { signal }).catch(() => undefined);
    }
  };
  const kept = (Object.keys(takes) as (keyof typeof takes)[]).flatMap((kind) =>
    urls.flatMap((url, gateway) =>
      // The apps of one gateway are others than those of the next: each sends one batch body at a
      // time.
      Array.from({ length: wanted[kind] }, (_, place) => keep(kind, url, gateway * wanted[kind] + place)),
    ),
  );
  await Promise.all([...kept, ...(wanted.webhooks > 0 ? [sendWebhooks()] : [])]);
}
