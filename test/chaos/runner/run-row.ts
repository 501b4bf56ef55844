import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import { type Attempt, Ledger } from '../../support/judges/ledger.ts';
import { startLoad } from '../../support/judges/load.ts';
import { makeRandom } from '../../support/random.ts';
import { makeCheckClient } from '../../support/systems/check-client.ts';
import type { Fault, Finding, Scene } from '../fault.ts';
import { atMost } from '../judges/measure.ts';
import { type Judgement, reconcile, topicEnds } from '../judges/reconcile.ts';
import { balance } from '../system/balance.ts';
import type { ChaosSystem } from '../system/chaos-system.ts';
import { allowSignIns, createApp } from '../system/create-app.ts';

/** The load of the matrix. */
export const PER_SECOND = 100;
/** Concurrent attempts while everything waits: at 100 a second, 20 s of them. */
export const IN_FLIGHT_MAX = 2_000;
/** If less than this share of the due attempts was sent, the row has proved nothing. */
const RATE_SHARE_MIN = 0.95;
/** Load before the fault, so that there is something to lose. */
const WARM_UP_MS = 1_500;

const NS_PER_MS = 1_000_000;

export type RowReport = {
  readonly id: string;
  readonly title: string;
  readonly counts: Judgement['outcome']['counts'] & { readonly evaluatedAgain: number };
  readonly drainMs: number;
  readonly figures: Finding['figures'];
  /** The offending ids of each promise. */
  readonly broken: Record<string, readonly string[]>;
};

export type RowOptions = {
  readonly seconds: number;
  readonly seed: number;
  /** Default 120 s. */
  readonly drainMsMax?: number;
  /** Attempts a second, unless the row sets its own; default 100. */
  readonly perSecond?: number;
  /** Whether an answer after its deadline breaks a promise; default true. It is always shown. */
  readonly timesDecide?: boolean;
};

/**
 * Runs one row: load, fault, drain, reconciliation.
 *
 * @throws Error if the load did not reach its rate, or the harness itself failed: nothing is proved
 *   then
 */
export async function runRow(fault: Fault, system: ChaosSystem, options: RowOptions): Promise<RowReport> {
  await using scope = new AsyncDisposableStack();
  await fault.before?.(system);
  const app = await createApp(system, `Chaos ${fault.id}`);
  if (fault.signsIn) await allowSignIns(system, app.clientId);
  const client = scope.use(balance(system.gateways, app.apiKey));
  const stranger = scope.use(balance(system.gateways, (await createApp(system, 'Stranger')).apiKey));
  const ends = await topicEnds(system);
  const ledger = new Ledger();
  const early: string[] = [];
  const receivers: Awaited<ReturnType<typeof receiveWebhooks>>[] = [];
  // Polls a gateway directly: a delivered result must be there by then. The receiver's answer does
  // not wait for it.
  const probe = system.gateways.map(({ url }) => makeCheckClient({ url, apiKey: app.apiKey }));
  const pollAtDelivery = async (requestId: string, place: number): Promise<void> => {
    const polled = await probe[place % probe.length]?.poll(requestId).catch(() => undefined);
    if (polled?.status === 202 || polled?.status === 404) early.push(requestId);
  };
  const answer: Answer = ({ requestId }, _, place) => {
    void pollAtDelivery(requestId, place);
    return 204;
  };
  const receive = async () => {
    const receiver = scope.use(await receiveWebhooks({ secret: app.webhookSecret, answer }));
    receivers.push(receiver);
    return receiver;
  };
  const receiver = await receive();
  let urls: readonly string[] = [receiver.url];
  let sent = 0;
  const perSecond = fault.perSecond ?? options.perSecond ?? PER_SECOND;
  const ownDelay = monitorEventLoopDelay({ resolution: 10 });
  ownDelay.enable();
  scope.defer(() => void ownDelay.disable());
  const load = startLoad({
    clients: [client],
    chain: system.chain,
    ledger,
    callbackUrl: () => urls[sent++ % urls.length] ?? receiver.url,
    perSecond,
    follow: true,
    ...(fault.signsIn && { signsIn: true }),
    inFlightMax: IN_FLIGHT_MAX,
  });
  scope.defer(() => load.stop());
  const rest: Scene['rest'] = async (ms) => {
    const fromMs = Date.now();
    await delay(ms);
    return { fromMs, toMs: Date.now() };
  };
  await rest(WARM_UP_MS);
  const measure = await fault.run({
    ...{ system, app, client, ledger, load, receiver, rest, receive, scope },
    seconds: options.seconds,
    random: makeRandom(options.seed),
    timesDecide: options.timesDecide ?? true,
    sendTo: (next) => {
      urls = next;
    },
  });
  await system.waitUntilReady();
  await load.stop();
  const isShort = load.count() < (load.count() + load.shortOf()) * RATE_SHARE_MIN;
  if (load.count() === 0 || (isShort && (options.timesDecide ?? true)))
    throw new Error(`${fault.id}: the load fell ${load.shortOf()} short of ${perSecond}/s`);
  const isSignedIn = ({ signsIn, outcome }: Attempt) => signsIn && outcome === 'acknowledged';
  if (fault.signsIn && !ledger.attempts.some(isSignedIn))
    throw new Error(`${fault.id}: no check with a sign-in was accepted`);
  const deliveries = () => receivers.flatMap((one) => one.deliveries);
  const judged = await reconcile({
    ...{ system, ledger, client, stranger, ends, early },
    clientId: app.clientId,
    drainMsMax: options.drainMsMax,
    ownDelayMs: ownDelay.max / NS_PER_MS,
    get deliveries() {
      return deliveries();
    },
  });
  return report(fault, judged, await measure(judged.outcome), options);
}

function report(
  fault: Fault,
  { outcome, broken }: Judgement,
  finding: Finding,
  { timesDecide = true }: RowOptions,
): RowReport {
  const own = finding.broken ?? [];
  const { late, ...promises } = broken;
  return {
    id: fault.id,
    title: fault.title,
    counts: { ...outcome.counts, evaluatedAgain: outcome.evaluatedAgain },
    drainMs: Math.round(outcome.drainMs),
    figures: timesDecide ? finding.figures : [...finding.figures, atMost('answers too late', late.length, 0)],
    broken: brokenOnly({ ...promises, ...(timesDecide && { late }), ...(own.length > 0 && { own }) }),
  };
}

const brokenOnly = (broken: Readonly<Record<string, readonly string[]>>): RowReport['broken'] =>
  Object.fromEntries(Object.entries(broken).filter(([, offenders]) => offenders.length > 0));
