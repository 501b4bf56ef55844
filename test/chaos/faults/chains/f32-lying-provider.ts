import { setTimeout as delay } from 'node:timers/promises';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import { watchMembers } from '../../load/watched-members.ts';
import { CHAINS } from '../../system/chaos-chains.ts';

const MEMBERS = 100;
const BOUND = { share: 0.2, atLeast: 20 } as const;
/** Long enough for one sweep, whenever it is due. */
const LIE_MS = 60_000;
const HELD_MS_MAX = 120_000;
const BACK_MS_MAX = 120_000;

/** One endpoint answers every balance with zero: alone, and as one of three where two must
 * agree. */
export const f32LyingProvider: Fault = {
  id: 'F32',
  title: 'a provider answers zero for every balance for 60 s: alone, and as one of three with a quorum of 2',
  async run({ system, scope }) {
    const common = { count: MEMBERS, massRevocation: BOUND };
    const alone = await watchMembers(system, scope, { ...common, chainId: CHAINS.other });
    const careful = await watchMembers(system, scope, { ...common, chainId: CHAINS.quorum });
    const both = [alone, careful];
    for (const watched of both) {
      for (const account of watched.accounts) await watched.mint(account);
      await watched.watch();
      await watched.untilRight();
      // A sweep that sees a part of the lie may revoke fewer roles than the bound.
      await watched.sweep();
    }
    const liars = [system.chains.other, system.chains.quorum[0]];
    for (const liar of liars) await liar?.setFault('zero-balance');
    const fromMs = Date.now();
    const isHeld = async () => (await alone.state()).state === 'held';
    await waitUntil('the watch to be held', isHeld, HELD_MS_MAX).catch(() => undefined);
    const heldS = (Date.now() - fromMs) / 1_000;
    await careful.rolecall.watches.check('members');
    await delay(Math.max(0, fromMs + LIE_MS - Date.now()));
    const broken = both.flatMap((watched) =>
      watched.events().flatMap(({ ref, granted }) => (granted ? [] : [`${ref}: revoked by a lie`])),
    );
    if (!alone.types().includes('watch.held'))
      broken.push('the client got no watch.held for held revocations');
    if (careful.types().includes('watch.held')) broken.push('an outvoted endpoint caused held revocations');
    for (const liar of liars) await liar?.setFault('none');
    const isActive = async () => (await alone.state()).state === 'active';
    await waitUntil('the watch to be active again', isActive, BACK_MS_MAX).catch(() =>
      broken.push('the held revocations were not dropped'),
    );
    return async () => ({
      figures: [atMost('held', heldS, 60, 's')],
      broken: [...broken, ...(await alone.judge()), ...(await careful.judge())],
    });
  },
};
