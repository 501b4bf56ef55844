import { setInterval as every } from 'node:timers/promises';
import { demoRules, type SentRule } from '../../../support/builders/demo-rules.ts';
import {
  deployHostileContracts,
  type HostileContract,
} from '../../../support/contracts/hostile-contracts.ts';
import type { Fault } from '../../fault.ts';
import { begunIn, resultTimes, timesBaseline } from '../../judges/measure.ts';
import { balance } from '../../system/balance.ts';
import { createApp } from '../../system/create-app.ts';

const PER_SECOND = 20;
const HOSTILE: readonly HostileContract[] = [
  'infiniteLoop',
  'returnBomb',
  'revertBomb',
  'selfDestructs',
  'decimals256',
  'decimalsBurnGas',
  'proxyToNothing',
];

export const f26HostileToken: Fault = {
  id: 'F26',
  title: 'a hostile token (infinite loop, return bomb, self-destruct, lying decimals) in a shared batch',
  async run({ system, scope, ledger, seconds, rest }) {
    const addresses = await deployHostileContracts(system.chain.rpc);
    const { erc20, erc721 } = demoRules(system.chain);
    const client = scope.use(balance(system.gateways, (await createApp(system, 'Hostile')).apiKey));
    const baseline = await rest(seconds * 500);
    const wrong: string[] = [];
    const send = async (count: number): Promise<void> => {
      const name = HOSTILE[count % HOSTILE.length] ?? 'infiniteLoop';
      const rules: SentRule[] = [
        erc20({ roleId: 'yes', minToken: '1500.5' }),
        erc20({ roleId: 'hostile', contractAddress: addresses[name] }),
        erc721({ roleId: 'no', tokenId: '6' }),
      ];
      const answer = await client.check({ account: system.chain.holder, rules });
      const said = JSON.stringify(answer.body.roles);
      const codes = answer.body.errors?.map(({ ruleIndex, code }) => `${ruleIndex} ${code}`).join();
      const isRight =
        said ===
        JSON.stringify([
          { id: 'yes', granted: true },
          { id: 'no', granted: false },
        ]);
      if (!isRight || !codes?.startsWith('1 ')) wrong.push(`${name}: ${answer.status} ${said} ${codes}`);
    };
    const underFault = { fromMs: Date.now(), toMs: Date.now() + seconds * 1_000 };
    const underWay: Promise<void>[] = [];
    for await (const _ of every(1_000 / PER_SECOND)) {
      if (Date.now() >= underFault.toMs) break;
      underWay.push(send(underWay.length));
    }
    await Promise.all(underWay);
    return () => {
      const timesIn = (span: typeof baseline) => resultTimes(begunIn(ledger.attempts, span));
      return {
        figures: [timesBaseline("others' p99", timesIn(underFault), timesIn(baseline), 1.5)],
        broken: wrong,
      };
    };
  },
};
