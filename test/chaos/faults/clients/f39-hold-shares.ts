import { setTimeout as delay } from 'node:timers/promises';
import { BATCH_PATH, CHECK_PATH } from '#shared/contracts/paths.ts';
import { deliveryKey } from '#shared/stores/webhooks/deliveries.ts';
import { demoRules } from '../../../support/builders/demo-rules.ts';
import { receiveWebhooks, type WebhookReceiver } from '../../../support/fakes/receive-webhooks.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault, Scene } from '../../fault.ts';
import { withBatches } from '../../judges/finished-batches.ts';
import { atLeast, atMost, begunIn, resultTimes, timesBaseline } from '../../judges/measure.ts';
import { startHolding } from '../../load/hold-apart.ts';
import {
  type Counts,
  type HoldingApp,
  idOf,
  isRefused,
  pollOf,
  SHARED,
  type Shared,
  sendBatch,
  type Wanted,
  wasNotWaitedFor,
} from '../../load/holders.ts';
import { type RawAnswer, sendRaw } from '../../load/raw-request.ts';
import { waitingCheck } from '../../load/waiting-check.ts';
import type { ChaosSystem } from '../../system/chaos-system.ts';
import { type Credentials, createApps } from '../../system/create-app.ts';
import { metricsOf, sumOf } from '../../system/process-facts.ts';

const APPS = 500;
const ACCOUNTS = 20;
/** Few, so that they can be held: all of 10 000 would cost more CPU than the shares. */
const IN_FLIGHT_MAX = 800;
/** The longest: a waiting check is sent again less often. */
const SYNC_DEADLINE_MS = 25_000;
/** How long a hanging receiver holds a slot. */
const ATTEMPT_MS = 30_000;
const HANGING_ORIGINS = 300;
/** Of 14 KB each: more than the buffers of a connection hold. */
const DOWNLOAD_ENTRIES = 600;
/** Apps of the large account that have such a batch. */
const DOWNLOADING = 8;
/** More than the three eighths that an account gets while it is alone. What needs a place among the
 * requests in flight for a moment only comes first. */
const SENT_BY_ONE: Wanted = { batches: 9, webhooks: 120, bodies: 110, downloads: 30 };
const WAITING_OF_ONE: Wanted = { checks: 260, polls: 160 };
const BATCH_ENTRIES_OF_ONE = 25_000;
/**
 * Each of twenty gets a little more than a thirtieth. In the lane a first place is the largest
 * batch, a tenth of all: there each sends one batch only, since the first places of ten accounts
 * would fill it.
 */
const SENT_BY_EACH: Wanted = { batches: 1, webhooks: 10, bodies: 12, downloads: 3 };
const WAITING_OF_EACH: Wanted = { checks: 18, polls: 5 };
const BATCH_ENTRIES_OF_EACH = 5_000;
const POLL_S = 2;

/** An account with 500 apps holds what it can, then beside 20 others; two accounts come that hold
 * nothing. */
export const f39HoldShares: Fault = {
  id: 'F39',
  title:
    'an account with 500 apps, then beside 20 more accounts, holds as much as it gets of all that is shared',
  perSecond: 20,
  needs: {
    env: {
      IN_FLIGHT_MAX: String(IN_FLIGHT_MAX),
      SYNC_DEADLINE_MS: String(SYNC_DEADLINE_MS),
      WEBHOOK_ATTEMPT_TIMEOUT_MS: String(ATTEMPT_MS),
    },
  },
  // Its batches and webhooks stay unfinished.
  isDestructive: true,
  async run(scene) {
    const { system, ledger, seconds, rest, scope } = scene;
    const urls = system.gateways.map(({ url }) => url);
    const apps = await createApps(system, APPS);
    const others: Credentials[] = [];
    for (let i = 0; i < ACCOUNTS; i += 1) others.push(...(await createApps(system, 1)));
    const newcomers: Credentials[] = [];
    for (const _ of urls) newcomers.push(...(await createApps(system, 1)));
    const owned = [
      ...(await withBatches(system, apps.slice(0, DOWNLOADING), DOWNLOAD_ENTRIES)),
      ...apps.slice(DOWNLOADING),
    ];
    const ownedByEach = await withBatches(system, others, DOWNLOAD_ENTRIES);
    const visitors = await withBatches(system, newcomers, 10);

    const hanging = scope.use(await receiveWebhooks({ host: '0.0.0.0', answer: () => undefined }));
    const healthy = scope.use(await receiveWebhooks());
    const holder = {
      ...{ urls, account: system.chain.holder, waiting: await waitingCheck(system) },
      webhook: {
        rules: [demoRules(system.chain).native()],
        callbackUrls: Array.from({ length: HANGING_ORIGINS }, (_, place) =>
          hanging.url.replace('0.0.0.0', `127.1.${Math.floor(place / 100)}.${(place % 100) + 1}`),
        ),
      },
    };
    const holding = scope.use(startHolding());
    const ofOne = () => holding.countsOf('one');
    const ofEach = () => holding.countsOf('each');
    const deferrals = await deferralsOf(system);

    const baseline = await rest(seconds * 500);
    const hold = (
      group: 'one' | 'each',
      apps: readonly HoldingApp[],
      wanted: Wanted,
      entriesOfBatch: number,
    ) => holding.hold({ ...holder, group, apps, wanted, entriesOfBatch });
    hold('one', owned, SENT_BY_ONE, BATCH_ENTRIES_OF_ONE);
    await waitUntil('the shares of the large account to be used up', () =>
      areRefused(ofOne(), ['batches', 'bodies', 'downloads']),
    );
    await waitUntil('its webhooks to be deferred', async () => (await deferralsOf(system)) > deferrals);
    const alone = visitAll(visitors, scene, healthy);
    await rest(seconds * 250);
    hold('one', owned, WAITING_OF_ONE, BATCH_ENTRIES_OF_ONE);
    await waitUntil('its places for waiting to be used up', () => areRefused(ofOne(), ['checks', 'polls']));
    const besideOne = await rest(seconds * 1_000);
    const visitsBesideOne = await alone.end();
    for (const app of ownedByEach) hold('each', [app], SENT_BY_EACH, BATCH_ENTRIES_OF_EACH);
    await waitUntil(
      'the batches of the others, and their shares to be used up',
      () => ofEach().batches.held === ACCOUNTS * urls.length && areRefused(ofEach(), ['bodies', 'downloads']),
    );
    const beside = visitAll(visitors, scene, healthy);
    await rest(seconds * 250);
    for (const app of ownedByEach) hold('each', [app], WAITING_OF_EACH, BATCH_ENTRIES_OF_EACH);
    await waitUntil('their places for waiting to be used up', () =>
      areRefused(ofEach(), ['checks', 'polls']),
    );
    const besideAll = await rest(seconds * 1_000);
    const visitsBesideAll = await beside.end();
    const deferred = (await deferralsOf(system)) - deferrals;
    await holding.end();
    const [one, each] = [ofOne(), ofEach()];

    return () => {
      const timesIn = (span: typeof baseline) => resultTimes(begunIn(ledger.attempts, span));
      const turnedAway = [besideOne, besideAll].map(
        (span) => begunIn(ledger.attempts, span).filter(({ code }) => code === 'overloaded').length,
      );
      const visits = [visitsBesideOne, visitsBesideAll];
      return {
        figures: [
          timesBaseline("others' p99 beside the large account", timesIn(besideOne), timesIn(baseline), 2),
          timesBaseline("others' p99 beside all", timesIn(besideAll), timesIn(baseline), 2),
          atMost("checks of the load's account refused", Math.max(...turnedAway), 0),
          ...SHARED.flatMap((kind) => [
            atLeast(`${kind} held by the large account`, one[kind].held, 1),
            ...(kind === 'webhooks' ? [] : [atLeast(`${kind} refused to it`, one[kind].refused, 1)]),
            atLeast(`${kind} held by the 20`, each[kind].held, 1),
          ]),
          atLeast('webhooks deferred', deferred, 1),
          atLeast('visits of accounts that held nothing', Math.min(...visits.map(({ count }) => count)), 2),
        ],
        broken: [
          ...visits.flatMap(({ refusals }) => refusals),
          ...(visits.every(({ count }) => count > 0) ? [] : ['no account came that held nothing']),
        ],
      };
    };
  },
};

/** Whether each share was used up, so that a place more was refused. */
const areRefused = (counts: Counts, kinds: readonly Shared[]): boolean =>
  kinds.every((kind) => counts[kind].refused > 0);

const deferralsOf = ({ running }: ChaosSystem): Promise<number> =>
  waitUntil('the metrics of the dispatcher', async () => {
    const text = await metricsOf(running('webhook-dispatcher')[0]?.ops ?? '');
    return text === '' ? undefined : { count: sumOf(text, 'rolecall_webhook_deferrals_total') };
  }).then(({ count }) => count);

/** At each gateway another account asks for one place of each after the other, again and again. */
function visitAll(visitors: readonly HoldingApp[], { system }: Scene, receiver: WebhookReceiver) {
  const refusals: string[] = [];
  let [count, isEnded] = [0, false];
  const visiting = visitors.map(async (visitor, gateway) => {
    const url = system.gateways[gateway]?.url ?? '';
    do {
      refusals.push(...(await visit(url, visitor, system, receiver)));
      count += 1;
      await delay(500);
    } while (!isEnded);
  });
  return {
    async end() {
      isEnded = true;
      await Promise.all(visiting);
      return { count, refusals };
    },
  };
}

async function visit(
  url: string,
  { apiKey, batchId = '' }: HoldingApp,
  system: ChaosSystem,
  receiver: WebhookReceiver,
): Promise<string[]> {
  const refusals: string[] = [];
  const judge = (what: string, answer: RawAnswer, isTurnedAway = false): boolean => {
    const isGiven = answer.status !== 0 && !isRefused(answer) && !isTurnedAway;
    if (!isGiven) refusals.push(`${what}: ${answer.status} ${answer.code ?? ''} at ${url}`);
    return isGiven;
  };
  const rules = [demoRules(system.chain).native()];
  const account = system.chain.holder;
  const check = (body: object, slow = {}) =>
    sendRaw({ url: url + CHECK_PATH, apiKey, body: JSON.stringify({ account, ...body }), ...slow });
  judge('a check', await check({ rules }));
  judge('a slow body', await check({ rules }, { heldBack: 10, heldBackMs: 500 }));
  const pending = await check({ ...(await waitingCheck(system)), async: true });
  if (judge('a check to poll', pending)) {
    const polled = await pollOf(url, apiKey, idOf(pending), POLL_S);
    judge('a long poll', polled, wasNotWaitedFor(polled));
  }
  judge('a download', await sendRaw({ url: `${url}${BATCH_PATH}/${batchId}/results`, apiKey }));
  const sent = await check({ rules, callbackUrl: receiver.url });
  if (judge('a webhook', sent) && sent.status === 202) {
    const requestId = idOf(sent);
    await receiver.waitFor((webhook) => webhook.requestId === requestId);
    const deferrals = await system.open.redis.hget(deliveryKey(requestId), 'deferrals');
    if (Number(deferrals) > 0) refusals.push(`a webhook was deferred ${deferrals} times`);
  }
  judge('a batch', await sendBatch(url, apiKey, { rules }, 1));
  return refusals;
}
