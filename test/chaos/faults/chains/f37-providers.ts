import { PROFILES } from '../../../providers/all-profiles.ts';
import { runProfiles } from '../../../providers/run-profiles.ts';
import { brokenOf, formatRows, type Row as ProviderRow } from '../../../providers/table.ts';
import type { Fault } from '../../fault.ts';
import { atMost } from '../../judges/measure.ts';
import { makeProviderClients, useProviderChain } from '../../load/use-provider-chain.ts';
import { QUORUMS } from '../../system/provider-chains.ts';

const WARM_UP_S = 60;
/** Up to twenty chains are checked at the same time. */
const TIMES = { drainMsMax: 120_000, ordinaryEveryMs: 2_000, hostileEveryMs: 1_000 };
/** Every provider answers at once, but this process may be busy. */
const ENVIRONMENT = { RPC_ATTEMPT_TIMEOUT_MS: '8000' };

export const f37Providers: Fault = {
  id: 'F37',
  title:
    'providers as they are: late pools, unknown words, limits, missing tags and states; a hostile client',
  needs: { providers: true, env: ENVIRONMENT },
  perSecond: 10,
  async run({ system, seconds, scope }) {
    const { providers } = system;
    if (providers === undefined) throw new Error('the system has no chains behind simulated providers');
    const clients = await makeProviderClients(system, scope);
    const broken: string[] = [];
    const all: ProviderRow[] = [];
    const times = { ...TIMES, warmUpMs: Math.min(WARM_UP_S, 2 * seconds) * 1_000, phaseMs: seconds * 1_000 };
    for (const quorum of QUORUMS) {
      const rows: ProviderRow[] = [];
      for (const stage of providers.stages)
        rows.push(
          ...(await runProfiles(PROFILES, {
            stages: new Map([stage]),
            ...{ quorum, times },
            connect: (profile, own, arrangement) =>
              useProviderChain(clients, own, providers.find(profile, arrangement)),
          })),
        );
      process.stdout.write(`quorum ${quorum}\n${formatRows(rows)}\n`);
      for (const row of rows)
        broken.push(...brokenOf(row).map((found) => `quorum ${quorum}, ${row.profile.name}: ${found}`));
      all.push(...rows);
    }
    const sumOf = (count: (row: ProviderRow) => number) => all.reduce((sum, row) => sum + count(row), 0);
    return () => ({
      figures: [
        atMost(
          'transfers lost',
          sumOf(({ beside, alone }) => beside.lost.length + alone.lost.length),
          0,
        ),
        atMost(
          'wrong verdicts',
          sumOf(({ beside, alone }) => beside.wrong.length + alone.wrong.length),
          0,
        ),
        atMost(
          'failed checks beside a healthy endpoint',
          sumOf(
            ({ beside: { failed } }) => failed.warmUp.length + failed.ordinary.length + failed.hostile.length,
          ),
          0,
        ),
      ],
      broken,
    });
  },
};
