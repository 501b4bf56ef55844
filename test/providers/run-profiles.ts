import { setTimeout as delay } from 'node:timers/promises';
import { type MinedChain, startMinedChain } from './mined-chain.ts';
import { makeWallets, startMoving } from './move-tokens.ts';
import type { Profile } from './profile.ts';
import { healthy } from './profiles/healthy.ts';
import { type Outcome, runProfile, type Times } from './run-profile.ts';
import type { Row } from './table.ts';

const ACCOUNTS = 12;
const MOVE_MS = 600;

export type RunOptions = {
  readonly quorum: number;
  readonly times: Times;
  /** The block time that chains really have, by that of the profile: the longest ones are shortened in a short run. */
  readonly blockTimeOf?: (blockTimeMs: number) => number;
};

/**
 * Runs profiles at the same time, each alone and beside a healthy endpoint, on one chain for each block time. The healthy
 * provider of each block time runs too, as their measure.
 */
export async function runProfiles(
  profiles: readonly Profile[],
  { quorum, times, blockTimeOf = (ms) => ms }: RunOptions,
): Promise<Row[]> {
  await using scope = new AsyncDisposableStack();
  const byBlockTime = [...Map.groupBy(profiles, ({ blockTimeMs }) => blockTimeMs)];
  const rows = byBlockTime.map(async ([blockTimeMs, own]) => {
    const chain = scope.use(await startMinedChain(blockTimeOf(blockTimeMs)));
    const run = await startTokens(chain, times);
    const outcomes = async (profile: Profile): Promise<{ beside: Outcome; alone: Outcome }> => {
      const [beside, alone] = await Promise.all(
        [true, false].map((isBesideHealthy) =>
          runProfile(profile, chain, { isBesideHealthy, quorum }, run, times),
        ),
      );
      return { beside: beside as Outcome, alone: alone as Outcome };
    };
    const measure = outcomes(healthy(blockTimeMs));
    return Promise.all(
      own.map(async (profile) => ({
        name: profile.name,
        blockTimeMs: chain.blockTimeMs,
        ...(await outcomes(profile)),
        healthy: await measure,
      })),
    );
  });
  return (await Promise.all(rows)).flat();
}

/** Moves tokens of new wallets for as long as the profiles send checks. */
async function startTokens(chain: MinedChain, { warmUpMs, phaseMs }: Times) {
  const accounts = await makeWallets(chain, ACCOUNTS);
  const mover = startMoving(chain, accounts, MOVE_MS);
  const moves = delay(warmUpMs + 2 * phaseMs).then(() => mover.stop());
  return { accounts, moves };
}
