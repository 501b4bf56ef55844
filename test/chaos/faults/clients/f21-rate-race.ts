import { setTimeout as delay } from 'node:timers/promises';
import { demoRules } from '../../../support/builders/demo-rules.ts';
import type { Fault } from '../../fault.ts';
import { balance } from '../../system/balance.ts';
import { createApp } from '../../system/create-app.ts';

/** The rate limit of the free tier. */
const LIMIT = 10;
const TIMES = 20;
const SECONDS = 6;
const WINDOW_MS = 1_000;
const TURN_MS = 5;

export const f21RateRace: Fault = {
  id: 'F21',
  title: '20 × the rate for 6 s over two gateways',
  async run({ system, scope }) {
    const client = scope.use(balance(system.gateways, (await createApp(system, 'Rate', 'free')).apiKey));
    const check = { account: system.chain.holder, rules: [demoRules(system.chain).native()], async: true };
    const answers: ReturnType<typeof client.check>[] = [];
    const began = performance.now();
    // An open loop: a late tick sends all requests that are due by then.
    for (let elapsedMs = 0; elapsedMs < SECONDS * WINDOW_MS; elapsedMs = performance.now() - began) {
      const due = Math.ceil((elapsedMs / WINDOW_MS) * LIMIT * TIMES);
      while (answers.length < due) answers.push(client.check(check));
      await delay(TURN_MS);
    }
    const at = (await Promise.all(answers))
      .map(({ headers }) => headers.get('rolecall-accepted-at'))
      .flatMap((text) => (text === null ? [] : [Number(text)]))
      .sort((a, b) => a - b);
    const busiest = Math.max(
      0,
      ...at.map((from, i) => at.slice(i).filter((one) => one - from < WINDOW_MS).length),
    );
    return () => ({
      figures: [
        {
          what: `most in any second of ${at.length} accepted`,
          measured: String(busiest),
          goal: `≤ ${LIMIT}`,
          met: busiest <= LIMIT,
        },
      ],
      broken: busiest <= LIMIT && at.length >= LIMIT ? [] : [`${busiest} in one second of ${at.length}`],
    });
  },
};
