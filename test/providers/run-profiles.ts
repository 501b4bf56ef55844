import { setTimeout as delay } from 'node:timers/promises';
import { healthy } from './all-profiles.ts';
import { connectInProcess } from './connect-in-process.ts';
import { type Move, makeWallets, startMoving, type Wallets } from './move-tokens.ts';
import type { Profile } from './profile.ts';
import { type MinedChain, startMinedChain } from './provider/mined-chain.ts';
import { type Outcome, runProfile, type Times } from './run-profile.ts';
import type { Arrangement, Subject } from './subject.ts';
import type { Row } from './table.ts';

const ACCOUNTS = 12;
const MOVE_MS = 600;

/** A chain of one block time, and wallets whose tokens can move. */
export type Stage = { readonly chain: MinedChain; readonly wallets: Wallets };
/** By the block time of the profiles. */
export type Stages = ReadonlyMap<Profile['blockTimeMs'], Stage>;

export type RunOptions = {
  readonly stages: Stages;
  readonly quorum: number;
  readonly times: Times;
  /** Default: the chain layer and the log follower in this process. */
  readonly connect?: (profile: Profile, stage: Stage, arrangement: Arrangement) => Promise<Subject>;
};

/** Starts a chain for each block time.
 * @param blockTimeOf the block time that the chain really has */
export async function startStages(
  scope: AsyncDisposableStack,
  profiles: readonly Profile[],
  blockTimeOf: (blockTimeMs: number) => number = (ms) => ms,
): Promise<Stages> {
  const blockTimes = [...new Set(profiles.map(({ blockTimeMs }) => blockTimeMs))];
  const stages = blockTimes.map(async (blockTimeMs): Promise<[Profile['blockTimeMs'], Stage]> => {
    const chain = scope.use(await startMinedChain(blockTimeOf(blockTimeMs)));
    return [blockTimeMs, { chain, wallets: await makeWallets(chain, ACCOUNTS) }];
  });
  return new Map(await Promise.all(stages));
}

/**
 * Runs profiles at the same time, each alone and beside a healthy endpoint. The healthy provider of
 * each block time runs too, as their measure.
 */
export async function runProfiles(profiles: readonly Profile[], options: RunOptions): Promise<Row[]> {
  const rows = [...options.stages].map(async ([blockTimeMs, stage]) => {
    const own = profiles.filter((profile) => profile.blockTimeMs === blockTimeMs);
    const moves = moveFor(stage, options.times);
    const measure = runBoth(healthy(blockTimeMs), stage, moves, options);
    const outcomes = await Promise.all(own.map((profile) => runBoth(profile, stage, moves, options)));
    const healthyOutcomes = await measure;
    return own.map((profile, index): Row => {
      const { beside, alone } = outcomes[index] as Both;
      const { blockTimeMs: realMs } = stage.chain;
      return {
        profile,
        blockTimeMs: realMs,
        quorum: options.quorum,
        beside,
        alone,
        healthy: healthyOutcomes,
      };
    });
  });
  return (await Promise.all(rows)).flat();
}

type Both = { readonly beside: Outcome; readonly alone: Outcome };

async function runBoth(
  profile: Profile,
  stage: Stage,
  moves: Promise<readonly Move[]>,
  { connect = connectHere, quorum, times }: RunOptions,
): Promise<Both> {
  const runOne = async (isBesideHealthy: boolean): Promise<Outcome> => {
    await using subject = await connect(profile, stage, { isBesideHealthy, quorum });
    const isDead = !isBesideHealthy && profile.isUsedUp === true;
    return await runProfile(stage.chain, subject, { accounts: stage.wallets.accounts, moves, isDead }, times);
  };
  const [beside, alone] = await Promise.all([runOne(true), runOne(false)]);
  return { beside, alone };
}

const connectHere: NonNullable<RunOptions['connect']> = (profile, { chain, wallets }, arrangement) =>
  connectInProcess(profile, chain, arrangement, wallets.accounts);

/** Moves the tokens for as long as the profiles send checks. */
async function moveFor({ chain, wallets }: Stage, { warmUpMs, phaseMs }: Times): Promise<Move[]> {
  const mover = startMoving(chain, wallets, MOVE_MS);
  await delay(warmUpMs + 2 * phaseMs);
  return mover.stop();
}
