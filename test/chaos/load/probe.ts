import { setInterval as every } from 'node:timers/promises';
import { demoRules, type SentRule } from '../../support/builders/demo-rules.ts';
import type { Attempt } from '../../support/judges/ledger.ts';
import type { Scene } from '../fault.ts';

type Probe = {
  readonly attempts: readonly Attempt[];
  /** Returns when every probe has its answer. */
  readonly stop: () => Promise<void>;
};

/** Sends sync checks of one chain at a steady rate, recorded in the ledger. */
export function startProbe(scene: Scene, chainId: number, perSecond: number): Probe {
  const { system, ledger, client } = scene;
  const { erc20, erc721, native } = demoRules({ ...system.chain, chainId });
  const attempts: Attempt[] = [];
  const underWay = new Set<Promise<void>>();
  const ended = new AbortController();
  const rulesOf = (roleId: string): SentRule[] => [
    erc20({ roleId, minToken: '1500.5' }),
    erc721({ roleId, tokenId: '2' }),
    native({ roleId }),
  ];
  const send = async (): Promise<void> => {
    const account = attempts.length % 2 === 0 ? system.chain.holder : system.chain.stranger;
    const attempt = ledger.begin('sync', account, rulesOf);
    attempts.push(attempt);
    try {
      ledger.end(attempt, await client.check({ account, rules: attempt.rules }));
    } catch {
      ledger.cut(attempt);
    }
  };
  const run = async (): Promise<void> => {
    for await (const _ of every(1_000 / perSecond)) {
      if (ended.signal.aborted) return;
      const sending = send().finally(() => underWay.delete(sending));
      underWay.add(sending);
    }
  };
  const running = run();
  return {
    attempts,
    async stop() {
      ended.abort();
      await running;
      await Promise.all(underWay);
    },
  };
}
