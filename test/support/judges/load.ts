import { setTimeout as delay } from 'node:timers/promises';
import { aSignIn, localWallet } from '../builders/a-sign-in.ts';
import { type DemoChain, demoRules } from '../builders/demo-rules.ts';
import type { WebhookReceiver } from '../fakes/receive-webhooks.ts';
import type { CheckClient } from '../systems/check-client.ts';
import type { Attempt, CheckMode, Evidence, Ledger } from './ledger.ts';

/** The modes of ten checks: the mix of the fault matrix. */
const MIX: readonly CheckMode[] = [
  'poll',
  'webhook',
  'sync',
  'poll',
  'webhook',
  'poll',
  'webhook',
  'sync',
  'poll',
  'webhook',
];
/** One check in so many proves its wallet, where the load is to: of all modes and both wallets. */
const SIGN_IN_EVERY = 7;
const TICK_MS = 20;
/** While this many attempts are under way a tick sends nothing: an open loop with a bound. */
const IN_FLIGHT_MAX = 500;
const POLLS_AT_ONCE = 50;
const LONG_POLL_S = 10;
const PAUSE_MS = 200;
/** Shorter than a test's timeout, so that lost checks are named and not merely waited for. */
const DRAIN_TIMEOUT_MS = 240_000;

type Client = Pick<CheckClient, 'check' | 'poll' | 'nonce'>;

type LoadOptions = {
  readonly clients: readonly Client[];
  readonly chain: DemoChain;
  readonly ledger: Ledger;
  /** The URL for webhooks; a function is called for each check. */
  readonly callbackUrl: string | (() => string);
  readonly perSecond: number;
  /** Whether each check in poll mode is polled from its 202 on, so that the ledger knows when its
   * result came. */
  readonly follow?: boolean;
  /** Whether some checks prove their wallet by `signIn`; the client apps have the domain of `aSignIn`. */
  readonly signsIn?: boolean;
  /** Default 500. */
  readonly inFlightMax?: number;
};

export type Load = {
  /** Attempts so far. */
  readonly count: () => number;
  readonly isStopped: () => boolean;
  /** Attempts that were due and not sent, because too many were under way. */
  readonly shortOf: () => number;
  /** Sends no more and returns when every attempt has its answer or its error. */
  readonly stop: () => Promise<void>;
};

/**
 * Sends checks at a steady rate, 40 % to be polled, 40 % by webhook, 20 % sync, of 3 rules each,
 * over all clients in turn, and writes each attempt into the ledger.
 *
 * @example
 * const load = startLoad({ clients: [system.client], chain, ledger, callbackUrl: receiver.url, perSecond: 50 });
 * await system.kill('evaluator');
 * await load.stop();
 */
export function startLoad(options: LoadOptions): Load {
  const { clients, chain, ledger, callbackUrl, perSecond, inFlightMax = IN_FLIGHT_MAX } = options;
  const { erc20, erc721, erc1155 } = demoRules(chain);
  const following = new AbortController();
  const underWay = new Set<Promise<void>>();
  const began = performance.now();
  let sent = 0;
  const rulesOf = (place: number) => (roleId: string) => [
    erc20({ roleId, minToken: place % 3 === 0 ? '1500.5' : '1500.500001' }),
    erc721({ roleId, tokenId: String((place % 6) + 1) }),
    erc1155({ roleId, tokenId: '7-8', minToken: String(14 + (place % 4)) }),
  ];
  /** Nothing while no nonce is issued. */
  const signInOf = async (client: Client, account: string) => {
    const nonce = await client.nonce().catch(() => undefined);
    if (nonce === undefined) return undefined;
    return [await aSignIn({ nonce, chainId: chain.chainId }, localWallet(account))];
  };
  const send = async (client: Client, mode: CheckMode, place: number): Promise<void> => {
    const account = place % 2 === 0 ? chain.holder : chain.stranger;
    const isToSignIn = options.signsIn && place % SIGN_IN_EVERY === 0;
    const signIn = isToSignIn ? await signInOf(client, account) : undefined;
    const attempt = ledger.begin(mode, account, rulesOf(place), signIn !== undefined);
    // Asked for by webhooks alone: else, of ten receivers in turn, the mix of modes never comes to five.
    const urlOf = () => (typeof callbackUrl === 'string' ? callbackUrl : callbackUrl());
    const ofMode = {
      sync: () => ({}),
      poll: () => ({ async: true }),
      webhook: () => ({ callbackUrl: urlOf() }),
    };
    const more = ofMode[mode]();
    try {
      const proof = signIn && { signIn };
      ledger.end(attempt, await client.check({ account, rules: attempt.rules, ...more, ...proof }));
    } catch {
      // The attempt stays indeterminate.
      ledger.cut(attempt);
    }
    if (options.follow && mode === 'poll') void follow(client, attempt);
  };
  const follow = async (client: Client, attempt: Attempt): Promise<void> => {
    const { requestId } = attempt;
    while (requestId !== undefined && !following.signal.aborted) {
      const answer = await client.poll(requestId, LONG_POLL_S).catch(() => undefined);
      if (answer?.status === 200) return ledger.result(attempt, answer.text);
      if (answer?.status !== 202) await delay(PAUSE_MS);
    }
  };
  const tick = (): void => {
    const due = Math.floor(((performance.now() - began) / 1000) * perSecond);
    for (; sent < due && underWay.size < inFlightMax; sent++) {
      const client = clients[sent % clients.length];
      const mode = MIX[sent % MIX.length];
      if (!client || !mode) continue;
      const sending = send(client, mode, sent).finally(() => underWay.delete(sending));
      underWay.add(sending);
    }
  };
  const timer = setInterval(tick, TICK_MS);
  let stoppedAt: number | undefined;
  return {
    count: () => sent,
    isStopped: () => stoppedAt !== undefined,
    shortOf: () => Math.floor((((stoppedAt ?? performance.now()) - began) / 1000) * perSecond) - sent,
    async stop() {
      // A late tick sends all due requests; a second stop sends none.
      if (stoppedAt === undefined) tick();
      stoppedAt ??= performance.now();
      clearInterval(timer);
      await Promise.all(underWay);
      following.abort();
    },
  };
}

/**
 * Collects the outcomes of the acknowledged checks: polls each until its terminal result is there,
 * and waits for the deliveries, 240 s at most in all. Outcomes that are missing by then are missing
 * from the evidence.
 */
export async function gatherEvidence(
  ledger: Ledger,
  client: Client,
  receiver: Pick<WebhookReceiver, 'deliveries'>,
): Promise<Pick<Evidence, 'polled' | 'deliveries'>> {
  const giveUpAt = performance.now() + DRAIN_TIMEOUT_MS;
  const polled = await pollAll(ledger.acknowledgedIds(), client, giveUpAt);
  const awaited = ledger.attempts.flatMap(({ mode, requestId }) =>
    mode === 'webhook' && requestId !== undefined ? [requestId] : [],
  );
  while (performance.now() < giveUpAt) {
    const seen = new Set(receiver.deliveries.map(({ requestId }) => requestId));
    if (awaited.every((id) => seen.has(id))) break;
    await delay(PAUSE_MS);
  }
  return { polled, deliveries: receiver.deliveries };
}

/** Polls each id until its terminal result is there, or until `giveUpAt` by `performance.now()`. */
export async function pollAll(
  ids: readonly string[],
  client: Client,
  giveUpAt: number,
): Promise<Map<string, string>> {
  const polled = new Map<string, string>();
  const waiting = [...ids];
  const pollNext = async (): Promise<void> => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      while (performance.now() < giveUpAt && !polled.has(id)) {
        const answer = await client.poll(id, LONG_POLL_S).catch(() => undefined);
        if (answer?.status === 200) polled.set(id, answer.text);
        // A check that was never issued will not appear: 404 is final.
        else if (answer?.status === 404) break;
        else if (answer?.status !== 202) await delay(PAUSE_MS);
      }
    }
  };
  await Promise.all(Array.from({ length: POLLS_AT_ONCE }, pollNext));
  return polled;
}
