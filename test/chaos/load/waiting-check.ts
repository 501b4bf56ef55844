import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import type { ChaosSystem } from '../system/chaos-system.ts';

/** Within the longest wait for a block (10 s of blocks of one second), and never mined. */
const BLOCKS_AHEAD = 8;

/** The members of a check that waits for as long as a check may. */
export async function waitingCheck({ chain }: Pick<ChaosSystem, 'chain'>) {
  const head = Number(await callJsonRpc(chain.rpc, 'eth_blockNumber', []));
  return {
    rules: [demoRules(chain).native()] as readonly object[],
    consistency: { minBlock: { [chain.chainId]: head + BLOCKS_AHEAD } },
  };
}
