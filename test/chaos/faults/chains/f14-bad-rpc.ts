import { setTimeout as delay } from 'node:timers/promises';
import type { Fault as RpcFault } from '../../../support/fakes/rpc-fault-proxy.ts';
import type { Fault } from '../../fault.ts';
import { atMost, begunIn, resultTimes, timesBaseline } from '../../judges/measure.ts';
import { startProbe } from '../../load/probe.ts';
import { CHAINS } from '../../system/chaos-chains.ts';
import type { ChaosSystem } from '../../system/chaos-system.ts';
import { metricsOf, sumOf } from '../../system/process-facts.ts';

const FAULTS: readonly RpcFault[] = [
  { kind: 'none', delayMs: 1_500 },
  { kind: 'http-429' },
  { kind: 'malformed' },
  { kind: 'short-batch' },
  { kind: 'wrong-id' },
  { kind: 'wrong-chain-id' },
  { kind: 'stale-head' },
  { kind: 'ignored-pin' },
  { kind: 'unknown-block' },
  { kind: 'http-500' },
];
const PROBES_PER_SECOND = 10;
const BREAKER_MS_MAX = 15_000;

/** Each fault on one endpoint of two, then on both; one endpoint of the chain with a quorum lies
 * throughout. */
export const f14BadRpc: Fault = {
  id: 'F14',
  title: 'RPC slow, 429, malformed, short batch, wrong chainId, stale head, ignored pin; one of three lies',
  async run(scene) {
    const { system, seconds, rest } = scene;
    const { main, quorum } = system.chains;
    const [other, careful] = [
      startProbe(scene, CHAINS.other, PROBES_PER_SECOND),
      startProbe(scene, CHAINS.quorum, PROBES_PER_SECOND),
    ];
    const baseline = await rest(seconds * 500);
    await quorum[0]?.setFault('altered-balance');
    const fromMs = Date.now();
    await main[0]?.setFault('hang');
    const breakerMs = await untilOpen(system);
    const eachMs = Math.max(500, (seconds * 1_000) / FAULTS.length / 2);
    for (const endpoints of [main.slice(0, 1), main])
      for (const fault of FAULTS) {
        for (const endpoint of endpoints) await endpoint.setFault(fault);
        await delay(eachMs);
      }
    const underFault = { fromMs, toMs: Date.now() };
    for (const endpoint of [...main, ...quorum]) await endpoint.setFault('none');
    await Promise.all([other.stop(), careful.stop()]);
    return () => {
      const timesIn = (span: typeof baseline) => resultTimes(begunIn(other.attempts, span));
      return {
        figures: [
          atMost('breaker open', breakerMs / 1_000, 10, 's'),
          timesBaseline("other chains' p99", timesIn(underFault), timesIn(baseline), 1.5),
        ],
        broken: careful.attempts.some(({ status }) => status === 200) ? [] : ['the quorum decided nothing'],
      };
    };
  },
};

async function untilOpen(system: ChaosSystem): Promise<number> {
  const began = performance.now();
  const texts = () => Promise.all(system.running('evaluator').map(({ ops }) => (ops ? metricsOf(ops) : '')));
  while (performance.now() - began < BREAKER_MS_MAX) {
    const open = (await texts()).map((text) =>
      sumOf(text, 'rolecall_rpc_breaker_state', `chain_id="${CHAINS.main}"`, 'state="open"'),
    );
    if (open.some((count) => count > 0)) break;
    await delay(100);
  }
  return performance.now() - began;
}
