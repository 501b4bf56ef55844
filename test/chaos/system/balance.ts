import { setTimeout as delay } from 'node:timers/promises';
import { type CheckClient, makeCheckClient } from '../../support/systems/check-client.ts';

const PROBE_INTERVAL_MS = 100;
const PROBE_TIMEOUT_MS = 1_000;

export type Gateway = { readonly url: string; readonly ops: string };
export type BalancedClient = Pick<CheckClient, 'check' | 'poll' | 'nonce'> & AsyncDisposable;

/**
 * A client behind a typical load balancer: it sends to ready gateways (to all where none is ready),
 * in turn, and where a connection is refused, so that nothing can have happened, to the next one.
 * The client sees all other failures.
 *
 * @example
 * await using client = balance(system.gateways, app.apiKey);
 */
export function balance(gateways: readonly Gateway[], apiKey: string): BalancedClient {
  const targets = gateways.map(({ url, ops }) => ({
    ops,
    isReady: true,
    client: makeCheckClient({ url, apiKey }),
  }));
  let isEnded = false;
  const probe = async (target: (typeof targets)[number]): Promise<void> => {
    while (!isEnded) {
      const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
      const answer = await fetch(`${target.ops}/readyz`, { signal }).catch(() => undefined);
      await answer?.text().catch(() => undefined);
      target.isReady = answer?.status === 200;
      await delay(PROBE_INTERVAL_MS);
    }
  };
  const probes = targets.map(probe);
  let turn = 0;
  const ask = async <T>(call: (client: CheckClient) => Promise<T>): Promise<T> => {
    turn++;
    const inTurn = targets.map((_, i) => targets[(turn + i) % targets.length]).filter((t) => t !== undefined);
    const ready = inTurn.filter(({ isReady }) => isReady);
    let refused: unknown;
    for (const { client } of ready.length > 0 ? ready : inTurn) {
      try {
        return await call(client);
      } catch (error) {
        if (!isRefused(error)) throw error;
        refused = error;
      }
    }
    throw refused;
  };
  const check: CheckClient['check'] = (body, headers) => ask((client) => client.check(body, headers));
  return {
    check,
    poll: (requestId, waitS) => ask((client) => client.poll(requestId, waitS)),
    nonce: () => ask((client) => client.nonce()),
    async [Symbol.asyncDispose]() {
      isEnded = true;
      await Promise.all(probes);
    },
  };
}

function isRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return (cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED';
}
