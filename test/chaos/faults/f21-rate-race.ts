import { setTimeout as delay } from 'node:timers/promises';
import { demoRules } from '../../support/demo-rules.ts';
import type { Fault } from '../fault.ts';
import { balance } from '../parts/balance.ts';
import { createApp } from '../parts/create-app.ts';

/** Of the free tier. */
const LIMIT = 10;
const TIMES = 20;
const SECONDS = 6;
const WINDOW_MS = 1_000;

export const f21RateRace: Fault = {
  id: 'F21',
  title: '20 × the rate for 6 s over two gateways',
  async run({ system, scope }) {
    const client = scope.use(balance(system.gateways, (await createApp(system, 'Rate', 'free')).apiKey));
    const check = { account: system.chain.holder, rules: [demoRules(system.chain).native()], async: true };
    const answers: ReturnType<typeof client.check>[] = [];
    for (let i = 0; i < LIMIT * TIMES * SECONDS; i++) {
      answers.push(client.check(check));
      await delay(WINDOW_MS / (LIMIT * TIMES));
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
