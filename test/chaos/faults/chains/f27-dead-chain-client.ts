import { LANES } from '#shared/contracts/checks/check-requested.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { callJsonRpc } from '../../../../deploy/local/infrastructure/json-rpc.ts';
import { demoRules } from '../../../support/builders/demo-rules.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { lagOf } from '../../judges/lag-of.ts';
import { begunIn, resultTimes, timesBaseline } from '../../judges/measure.ts';
import { startFlood } from '../../load/flood.ts';
import { CHAINS } from '../../system/chaos-chains.ts';

const PER_SECOND = 50;
/** Within the longest wait for a block (10 s of blocks of one second), and never mined. */
const BLOCKS_AHEAD = 8;
/** The lag that the load itself causes. */
const CAUGHT_UP_LAG = 100;

export const f27DeadChainClient: Fault = {
  id: 'F27',
  title: "one client's checks all name a dead chain, or a minBlock far ahead",
  async run(scene) {
    const { system, ledger, seconds, rest } = scene;
    const { chain } = system;
    const baseline = await rest(seconds * 500);
    const head = Number(await callJsonRpc(chain.rpc, 'eth_blockNumber', []));
    const dead = demoRules({ ...chain, chainId: CHAINS.dead }).native();
    const ahead = { minBlock: { [chain.chainId]: head + BLOCKS_AHEAD } };
    const endFlood = await startFlood(scene, PER_SECOND, (count) => ({
      account: chain.holder,
      ...(count % 2 === 0 ? { rules: [dead] } : { rules: [demoRules(chain).native()], consistency: ahead }),
    }));
    const underFault = await rest(seconds * 1_000);
    await endFlood();
    // The next row must not meet these checks.
    const lag = () => lagOf(system, CONSUMER_GROUPS.lanes.bulk, LANES.bulk.name);
    await waitUntil('the flood to be over', async () => (await lag()) < CAUGHT_UP_LAG);
    return () => {
      const timesIn = (span: typeof baseline) => resultTimes(begunIn(ledger.attempts, span));
      return { figures: [timesBaseline("others' p99", timesIn(underFault), timesIn(baseline), 1.5)] };
    };
  },
};
