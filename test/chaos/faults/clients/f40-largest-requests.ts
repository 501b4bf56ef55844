import { setTimeout as delay } from 'node:timers/promises';
import { BATCH_PATH, CHECK_PATH } from '#shared/contracts/paths.ts';
import { BODY_BYTES_MAX } from '#shared/http/read-json-body.ts';
import { NDJSON_BYTES_MAX } from '../../../../services/gateway/batches/receive-values.ts';
import { demoRules } from '../../../support/builders/demo-rules.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { withBatches } from '../../judges/finished-batches.ts';
import { atLeast, atMost } from '../../judges/measure.ts';
import { addressOf, isRefused } from '../../load/holders.ts';
import { type RawAnswer, sendRaw } from '../../load/raw-request.ts';
import { waitingCheck } from '../../load/waiting-check.ts';
import type { ChaosSystem } from '../../system/chaos-system.ts';
import { type Credentials, createApps } from '../../system/create-app.ts';
import { metricsOf, sumOf, watchProcesses } from '../../system/process-facts.ts';

/** The memory of a container in `docker-compose.yml` and `deploy/k8s`; the processes have the heap
 * limit of the image. */
const CONTAINER_MIB = 1_024;
const RSS_SHARE_MAX = 0.8;
const SERVICES = ['gateway', 'evaluator'] as const;
/** The longest: more requests wait at once. */
const SYNC_DEADLINE_MS = 25_000;
const SMALL_CHECKS = 1_000;
const ACCOUNTS = 6;
const APPS_OF_EACH = 4;
/** Of each kind at each gateway; of all but the checks more than its bound, of the batch bodies by
 * the account's share. */
const BODIES = 320;
const BATCH_BODIES = ACCOUNTS * APPS_OF_EACH;
const DOWNLOADS = 80;
const CHECKS = 160;
const READS = 24;
const BATCH_BODY_MS = 60_000;
const BODY_MS = 9_000;
const UNREAD_MS = 25_000;
const AGAIN_MS = 3_000;
const FROZEN_MS = 4_000;
const DOWNLOAD_ENTRIES = 200;
/** A block that far ahead is not waited for: each rule ends with an error at once. */
const FAR_AHEAD = 9_000_000_000_000;

type Kind = 'checks' | 'checks of many reads' | 'bodies' | 'batch bodies' | 'downloads';

export const f40LargestRequests: Fault = {
  id: 'F40',
  title:
    'every gateway and evaluator waits with as many requests of the largest size as it lets in, the broker frozen for 4 s too',
  perSecond: 5,
  needs: { env: { SYNC_DEADLINE_MS: String(SYNC_DEADLINE_MS) } },
  // Its checks stay unfinished.
  isDestructive: true,
  async run({ system, seconds, rest, scope }) {
    const { chain } = system;
    const urls = system.gateways.map(({ url }) => url);
    const accounts: Credentials[][] = [];
    for (let i = 0; i < ACCOUNTS; i += 1) accounts.push(await createApps(system, APPS_OF_EACH));
    // An app of each account after the other.
    const apps = Array.from({ length: APPS_OF_EACH }, (_, n) =>
      accounts.flatMap((own) => own[n] ?? []),
    ).flat();
    const keyOf = (place: number): string => apps[place % apps.length]?.apiKey ?? '';
    const consistency = { minBlock: { [chain.chainId]: FAR_AHEAD } };
    const batches = await withBatches(system, apps.slice(0, ACCOUNTS), DOWNLOAD_ENTRIES, { consistency });
    const pids = pidsOf(system);
    const waiters = countWaiters(system);
    const watched = scope.use(watchProcesses(system, waiters.sample));
    const ended = new AbortController();
    scope.defer(() => ended.abort());
    const { signal } = ended;

    const waiting = { account: chain.holder, ...(await waitingCheck(system)) };
    const small = JSON.stringify(waiting);
    const smallChecks = urls.flatMap((url) =>
      Array.from({ length: SMALL_CHECKS + 100 }, async (_, place) => {
        await delay(place * 5);
        return sendRaw({ url: url + CHECK_PATH, apiKey: keyOf(place), body: small });
      }),
    );
    const smallAnswers = await Promise.all(smallChecks);
    const smallWaiting = waiters.takeMax();

    const large = {
      check: largestCheck(waiting),
      reads: mostReads(waiting, chain),
      batch: largestBatch(waiting),
    };
    const body = Buffer.alloc(BODY_BYTES_MAX, ' ');
    const counts: Record<Kind, { sent: number; refused: number; cut: number; other: number }> = {
      checks: none(),
      'checks of many reads': none(),
      bodies: none(),
      'batch bodies': none(),
      downloads: none(),
    };
    const keep = (kind: Kind, count: number, send: (url: string, place: number) => Promise<RawAnswer>) =>
      urls.flatMap((url, gateway) =>
        Array.from({ length: count }, async (_, place) => {
          while (!signal.aborted) {
            const answer = await send(url, gateway * count + place);
            if (signal.aborted) return;
            const of = counts[kind];
            of.sent += 1;
            if (isRefused(answer)) of.refused += 1;
            else if (answer.status === 0) of.cut += 1;
            else if (!EXPECTED.has(answer.status)) of.other += 1;
            await delay(isRefused(answer) ? AGAIN_MS : 100, undefined, { signal }).catch(() => undefined);
          }
        }),
      );
    const post =
      (path: string, sent: Buffer, more: Partial<Parameters<typeof sendRaw>[0]> = {}) =>
      (url: string, place: number) =>
        sendRaw({ url: url + path, apiKey: keyOf(place), body: sent, signal, ...more });
    const held = Promise.all([
      ...keep('bodies', BODIES, post(CHECK_PATH, body, { heldBack: 1, heldBackMs: BODY_MS })),
      ...keep(
        'batch bodies',
        BATCH_BODIES,
        post(BATCH_PATH, large.batch, {
          headers: { 'content-type': 'application/x-ndjson' },
          heldBack: 1,
          heldBackMs: BATCH_BODY_MS,
        }),
      ),
      ...keep('downloads', DOWNLOADS, (url, place) => {
        const { apiKey = '', batchId = '' } = batches[place % batches.length] ?? {};
        return sendRaw({
          url: `${url}${BATCH_PATH}/${batchId}/results`,
          apiKey,
          unreadMs: UNREAD_MS,
          signal,
        });
      }),
      ...keep('checks', CHECKS, post(CHECK_PATH, large.check)),
      ...keep('checks of many reads', READS, post(CHECK_PATH, large.reads)),
    ]);
    await waitUntil('refusals of requests beyond the bounds', () =>
      BOUNDED.every((kind) => counts[kind].refused > 0),
    );
    await rest(seconds * 1_000);
    system.signal('kafka', 'SIGSTOP');
    await rest(FROZEN_MS);
    system.signal('kafka', 'SIGCONT');
    await rest(seconds * 1_000);
    ended.abort();
    await held;
    await watched.stop();
    const largeWaiting = waiters.takeMax();
    const survivors = pidsOf(system);

    return () => {
      const refusedSmall = smallAnswers.filter(isRefused).length;
      return {
        figures: [
          ...SERVICES.map((service) =>
            atMost(`memory of ${service}`, watched.rssMax(service), RSS_SHARE_MAX * CONTAINER_MIB, 'MiB'),
          ),
          atLeast('small checks that waited at once, at each gateway', smallWaiting, SMALL_CHECKS),
          atMost('small checks refused', refusedSmall, 0),
          atLeast('largest checks that waited at once, at each gateway', largeWaiting, 1),
          ...(Object.keys(counts) as Kind[]).flatMap((kind) => [
            atLeast(`${kind} sent`, counts[kind].sent, 1),
            atMost(`${kind} cut without an answer`, counts[kind].cut, 0),
          ]),
          ...BOUNDED.map((kind) => atLeast(`${kind} refused`, counts[kind].refused, 1)),
        ],
        broken: [
          ...(pids.every((pid) => survivors.includes(pid)) ? [] : ['a process did not survive']),
          ...SERVICES.filter((service) => watched.rssMax(service) > CONTAINER_MIB).map(
            (service) => `a ${service} had more memory than its container`,
          ),
          ...(refusedSmall > 0 ? [`${refusedSmall} small checks were refused`] : []),
          ...(Object.keys(counts) as Kind[]).flatMap((kind) =>
            counts[kind].other > 0
              ? [`${counts[kind].other} ${kind} were neither answered nor refused by 503`]
              : [],
          ),
        ],
      };
    };
  },
};

/** The kinds of which more is sent than there are places. */
const BOUNDED = ['bodies', 'batch bodies', 'downloads'] as const satisfies readonly Kind[];
/** A result, an acceptance, a body of blanks, a slow body, nothing decided or refused, the
 * deadline. */
const EXPECTED: ReadonlySet<number> = new Set([200, 202, 400, 408, 503, 504]);
const none = () => ({ sent: 0, refused: 0, cut: 0, other: 0 });

const pidsOf = (system: ChaosSystem): number[] =>
  SERVICES.flatMap((service) => system.running(service).map(({ pid }) => pid));

/** A hundred rules with labels, just below the largest body: the client chooses the size of what is
 * kept for it. */
function largestCheck(waiting: object): Buffer {
  const rules = (waiting as { readonly rules: readonly object[] }).rules;
  const label = '🦊'.repeat(250);
  const sent = {
    ...waiting,
    rules: Array.from({ length: 100 }, (_, i) => ({
      ...rules[0],
      roleId: `r${i}`,
      name: label,
      description: label,
    })),
  };
  return Buffer.from(JSON.stringify(sent));
}

/** 39 tokens of 256 ids: nearly all the reads that an asynchronous check may have. */
function mostReads(waiting: object, chain: ChaosSystem['chain']): Buffer {
  const tokens = Array.from({ length: 39 }, (_token, n) => {
    const ids = Array.from({ length: 256 }, (_id, i) => String(1_000_000 + n * 1_000 + i));
    const { roleId: _, ...rule } = demoRules(chain).erc1155({ tokenId: ids.join(',') });
    return rule;
  });
  return Buffer.from(
    JSON.stringify({ ...waiting, async: true, rules: [{ type: 'ANY', roleId: 'any', rules: tokens }] }),
  );
}

/** As many entries as the largest body holds. */
function largestBatch(waiting: object): Buffer {
  const { account: _, ...head } = waiting as { readonly account: string };
  const lines = [JSON.stringify(head)];
  let bytes = lines[0]?.length ?? 0;
  for (let place = 0; ; place += 1) {
    const line = JSON.stringify({ account: addressOf(place), ref: `${place}`.padStart(128, '0') });
    bytes += line.length + 1;
    if (bytes + 1 > NDJSON_BYTES_MAX) return Buffer.from(`${lines.join('\n')}\n`);
    lines.push(line);
  }
}

/** How many checks wait at the gateway that has the fewest. */
function countWaiters({ gateways }: ChaosSystem) {
  const waiters = new Map<string, number>();
  return {
    async sample() {
      for (const { ops } of gateways)
        waiters.set(ops, Math.max(waiters.get(ops) ?? 0, sumOf(await metricsOf(ops), 'rolecall_waiters')));
    },
    /** The most so far; counts from zero again. */
    takeMax() {
      const most = Math.min(...waiters.values());
      waiters.clear();
      return most;
    },
  };
}
