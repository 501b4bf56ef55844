import { demoRules } from '../../../support/builders/demo-rules.ts';
import type { Fault } from '../../fault.ts';
import { balance } from '../../system/balance.ts';
import { createApp } from '../../system/create-app.ts';

const LEFT = 100;
const USED = 50;
const PARALLEL = 500;

export const f20QuotaRace: Fault = {
  id: 'F20',
  title: '500 parallel requests at quota − 100',
  async run({ system, scope, rest }) {
    const app = await createApp(system, 'Quota', { requestsPerMonth: USED + LEFT });
    const client = scope.use(balance(system.gateways, app.apiKey));
    const check = { account: system.chain.holder, rules: [demoRules(system.chain).native()], async: true };
    for (let i = 0; i < USED; i++) await client.check(check);
    const answers = await Promise.all(Array.from({ length: PARALLEL }, () => client.check(check)));
    const accepted = answers.filter(({ status }) => status === 202).length;
    const refused = answers.filter(
      ({ status, body }) => status === 429 && body.code === 'monthly-quota-exceeded',
    ).length;
    await rest(1_000);
    return () => ({
      figures: [
        { what: 'accepted', measured: String(accepted), goal: `exactly ${LEFT}`, met: accepted === LEFT },
      ],
      broken:
        accepted === LEFT && refused === PARALLEL - LEFT
          ? []
          : [`${accepted} accepted, ${refused} refused by the quota`],
    });
  },
};
