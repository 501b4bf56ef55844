import type { Fault as RpcFault } from '../../../support/fakes/rpc-fault-proxy.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import { type WatchedMembers, watchMembers } from '../../load/watched-members.ts';
import { CHAINS } from '../../system/chaos-chains.ts';

const MEMBERS = 50;
const MOVES = 10;
const FOLLOWING_MS_MAX = 90_000;
const methods = ['eth_getLogs'];
/** Each fault, and whether transfers can still be followed under it. */
const FAULTS: readonly (RpcFault & { readonly state: 'live' | 'sweeps-only' })[] = [
  { kind: 'no-logs', state: 'sweeps-only' },
  { kind: 'http-500', methods, state: 'sweeps-only' },
  { kind: 'hang', methods, state: 'sweeps-only' },
  { kind: 'ten-blocks-of-logs', state: 'live' },
  { kind: 'fewer-logs', state: 'live' },
  { kind: 'none', delayMs: 1_500, methods, state: 'live' },
];

/** The only endpoint of a chain; its balances stay readable throughout. */
export const f34BadLogs: Fault = {
  id: 'F34',
  title: 'eth_getLogs is not offered, fails, hangs, is limited to 10 blocks, answers partially, or is slow',
  async run({ system, random, scope }) {
    const watched = await watchMembers(system, scope, { count: MEMBERS, chainId: CHAINS.other });
    await watched.watch();
    const broken: string[] = [];
    const [caughtUp, sweptS, liveS]: [number[], number[], number[]] = [[], [], []];
    for (const { state, ...fault } of FAULTS) {
      await untilFollowing(watched, 'live', broken, fault.kind);
      await system.chains.other.setFault(fault);
      for (let i = 0; i < MOVES; i++) await watched.move(random);
      if (state === 'sweeps-only') {
        await untilFollowing(watched, state, broken, fault.kind);
        await watched.rolecall.watches.check('members');
        sweptS.push(await watched.untilRight());
        for (let i = 0; i < MOVES; i++) await watched.move(random);
      }
      await system.chains.other.setFault('none');
      const fromMs = Date.now();
      caughtUp.push(await watched.untilRight());
      await untilFollowing(watched, 'live', broken, fault.kind);
      liveS.push((Date.now() - fromMs) / 1_000);
      broken.push(...(await watched.judge()).map((found) => `${fault.kind}: ${found}`));
    }
    return () => ({
      figures: [
        atMost('a sweep while logs cannot be read', Math.max(...sweptS), 30, 's'),
        atMost('end of the fault to correct last events', Math.max(...caughtUp), 30, 's'),
        atMost('end of the fault to live', Math.max(...liveS), 60, 's'),
      ],
      broken,
    });
  },
};

async function untilFollowing(
  watched: WatchedMembers,
  expected: 'live' | 'sweeps-only',
  broken: string[],
  kind: string,
): Promise<void> {
  const isSo = async () => {
    const [contract] = (await watched.state()).following;
    return contract?.state === expected && (expected === 'live' || (contract.reason ?? '') !== '');
  };
  await waitUntil('the contract to be followed', isSo, FOLLOWING_MS_MAX).catch(() =>
    broken.push(`${kind}: the contract is not ${expected}`),
  );
}
