import { randomBytes } from 'node:crypto';
import { WATCHES_PATH } from '#shared/contracts/paths.ts';
import { MEMBER_CHANGES_MAX } from '#shared/contracts/watches/watch.ts';
import { waitUntil } from '../support/wait-until.ts';
import { startBenchSystem } from './bench-system.ts';
import type { Curve, Point } from './curve.ts';
import { RPC_LATENCY_MS, valuesOf } from './grow.ts';
import { inRounds, leastOf } from './least-of.ts';
import { makeWatchClient, memberBytesOf, rulesOf, startReceiver, sweepOnce } from './sweep-members.ts';

const WAIT_MS_MAX = 600_000;
const LONGEST_S = 604_800;

/** The cost of a swept member of a watch, by the number of members. */
export async function growMembers(sizes: readonly number[]): Promise<Curve> {
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await startReceiver());
  const bench = stack.use(await startBenchSystem({ rpcLatencyMs: RPC_LATENCY_MS }));
  const client = makeWatchClient(bench);
  await client.call('PUT', '/access-control/rule-sets/three', { rules: rulesOf(bench) });
  await client.call('PUT', `${WATCHES_PATH}/bench`, {
    ruleSet: 'three',
    callbackUrl: receiver.url,
    everySeconds: LONGEST_S,
    quotaShare: 1,
  });
  const points: Point[] = [];
  let added = 0;
  let facts: Curve['facts'] = {};
  for (const x of sizes) {
    while (added < x) {
      const count = Math.min(MEMBER_CHANGES_MAX, x - added);
      const add = Array.from({ length: count }, () => `0x${randomBytes(20).toString('hex')}`);
      await client.call('POST', `${WATCHES_PATH}/bench/members`, { add });
      added += count;
    }
    await waitUntil('the first event of every member', () => receiver.firsts() >= added, WAIT_MS_MAX);
    const sweeps = await inRounds(() => sweepOnce(bench, client, receiver));
    const best = leastOf(sweeps, ({ cpuSeconds }) => cpuSeconds);
    points.push({ x, values: valuesOf({ used: best.used, count: x }) });
    facts = {
      redisBytesPerMember: Math.round((await memberBytesOf(bench)) / x),
      rpcCallsPer1000Members: (1_000 * best.calls) / x,
      sweepSeconds: best.seconds,
    };
  }
  return {
    title: 'Members swept',
    xLabel: 'members',
    yLabel: 'CPU ms of one member in a sweep, by process',
    points,
    facts,
  };
}
