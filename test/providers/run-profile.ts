import { setTimeout as delay, setInterval as every } from 'node:timers/promises';
import type { CheckResult } from '#shared/contracts/result.ts';
import { makeChainOracle } from '../support/chain-oracle.ts';
import { connectTestChains, type TestCheck } from '../support/connect-test-chains.ts';
import type { SentRule } from '../support/demo-rules.ts';
import { hostileCheck, ordinaryCheck } from './checks.ts';
import { followInProcess } from './follow-in-process.ts';
import type { MinedChain } from './mined-chain.ts';
import type { Move } from './move-tokens.ts';
import type { Profile } from './profile.ts';
import { healthy } from './profiles/healthy.ts';
import { type RunningProvider, startProvider } from './start-provider.ts';

export const CHAIN_ID = 31_337;
const ORDINARY_MS = 500;
const HOSTILE_MS = 200;
/** The deadline of a check, as a sync one has it. */
const EVALUATION_MS_MAX = 9_000;
/** A node that does not answer is not a fault of this simulator: no attempt ends by its time on a busy machine. */
const ATTEMPT_MS_MAX = 8_000;

/** The phases of a run, ms. */
export type Times = {
  readonly warmUpMs: number;
  /** Ordinary checks alone, and then as long beside the hostile client. */
  readonly phaseMs: number;
  /** From the last move until its transfer must have been published. */
  readonly drainMsMax: number;
};

/** The endpoints of a chain: the provider alone, or beside healthy ones; as many as the quorum needs. */
export type Arrangement = { readonly isBesideHealthy: boolean; readonly quorum: number };

export type Outcome = {
  readonly lost: readonly string[];
  readonly wrong: readonly string[];
  /** Ordinary checks with a rule that has no verdict, by phase. */
  readonly failed: Readonly<Record<Phase, readonly string[]>>;
  readonly checkCount: Readonly<Record<Phase, number>>;
  /** Calls of all endpoints while only ordinary checks ran, and the read batches of that time. */
  readonly callCount: number;
  readonly batchCount: number;
  /** The states that `following` showed, in order. */
  readonly states: readonly string[];
  readonly errors: readonly unknown[];
};

type Phase = 'warmUp' | 'ordinary' | 'hostile';
type Judged = { readonly check: TestCheck; readonly phase: Phase; readonly result: CheckResult };

/**
 * Runs one profile through the evaluator's chain layer and log follower, in this process: ordinary checks, then the same
 * beside a hostile client, while the tokens of the accounts move.
 *
 * @param moves resolves with all moves, in blocks, when the movers have stopped
 */
export async function runProfile(
  profile: Profile,
  chain: MinedChain,
  { isBesideHealthy, quorum }: Arrangement,
  { accounts, moves }: { readonly accounts: readonly string[]; readonly moves: Promise<readonly Move[]> },
  times: Times,
): Promise<Outcome> {
  await using scope = new AsyncDisposableStack();
  const others = Array<Profile>(quorum).fill(healthy(profile.blockTimeMs));
  const profiles = isBesideHealthy ? [profile, ...others] : Array<Profile>(quorum).fill(profile);
  const providers: RunningProvider[] = [];
  for (const each of profiles) providers.push(scope.use(await startProvider(each, chain, CHAIN_ID)));
  const test = scope.use(
    connectTestChains(
      [{ chainId: CHAIN_ID, urls: providers.map(({ url }) => url), quorum, blockTimeMs: chain.blockTimeMs }],
      { evaluationMsMax: EVALUATION_MS_MAX, attemptTimeoutMs: ATTEMPT_MS_MAX },
    ),
  );
  const contracts = [chain.erc20, chain.erc721, chain.erc1155].map((contract) => contract.toLowerCase());
  const followed = scope.use(followInProcess(test.chains.followable, contracts, accounts));
  const callCount = () => providers.reduce((sum, provider) => sum + provider.callCount(), 0);

  let phase: Phase = 'warmUp';
  const judged: Judged[] = [];
  const running = new Set<Promise<void>>();
  const stopping = new AbortController();
  const send = (check: TestCheck, into: Judged[] | undefined): void => {
    const of = { check, phase };
    const sending = test
      .judge(check)
      .then((result) => void into?.push({ ...of, result }))
      .finally(() => running.delete(sending));
    running.add(sending);
  };
  const repeat = async (ms: number, sendNext: (count: number) => void): Promise<void> => {
    let count = 0;
    try {
      for await (const _ of every(ms, undefined, { signal: stopping.signal })) sendNext(count++);
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
    }
  };
  const ordinary = repeat(ORDINARY_MS, (count) =>
    send(ordinaryCheck(chain, CHAIN_ID, accounts, count), judged),
  );
  await delay(times.warmUpMs);
  phase = 'ordinary';
  const before = { calls: callCount(), batches: test.batches.length };
  await delay(times.phaseMs);
  const counts = {
    callCount: callCount() - before.calls,
    batchCount: test.batches.length - before.batches,
  };
  phase = 'hostile';
  const hostile = repeat(HOSTILE_MS, (count) => send(hostileCheck(chain, CHAIN_ID, count), undefined));
  await delay(times.phaseMs);
  stopping.abort();
  await Promise.all([ordinary, hostile]);
  await Promise.all(running);

  const missing = async () =>
    (await moves).filter(
      ({ contract, account, blockNumber }) => !followed.has(contract, account, blockNumber),
    );
  await moves;
  const giveUpMs = performance.now() + times.drainMsMax;
  while ((await missing()).length > 0 && performance.now() < giveUpMs) await delay(100);
  const isLive = (contract: string) => followed.states.get(contract)?.at(-1) === 'live';
  const lost = (await missing()).filter(({ contract }) => isLive(contract));
  const wrong = await findWrong(chain, judged);
  return {
    lost: lost.map(({ contract, account, blockNumber }) => `${contract} ${account} ${blockNumber}`),
    wrong,
    failed: byPhase(judged, (of) => of.flatMap(failureOf)),
    checkCount: byPhase(judged, (of) => of.length),
    ...counts,
    states: [...new Set([...followed.states.values()].flat())],
    errors: followed.errors,
  };
}

function byPhase<T>(judged: readonly Judged[], reduce: (of: readonly Judged[]) => T): Record<Phase, T> {
  const of = (phase: Phase) => reduce(judged.filter((each) => each.phase === phase));
  return { warmUp: of('warmUp'), ordinary: of('ordinary'), hostile: of('hostile') };
}

/** Why a check has a rule without a verdict, if it has one. */
function failureOf({ check, result }: Judged): string[] {
  if (result.roles.length === check.rules.length) return [];
  const { minBlock, atBlock } = check.consistency ?? { minBlock: {} };
  const where = atBlock ? 'atBlock' : Object.keys(minBlock).length > 0 ? 'minBlock' : 'head';
  return [`${where}: ${result.errors[0]?.code}`];
}

/** Verdicts that the chain itself contradicts at the reported block. */
async function findWrong(chain: MinedChain, judged: readonly Judged[]): Promise<string[]> {
  const oracle = makeChainOracle(chain.rpc, chain);
  const wrong: string[] = [];
  for (const { check, result } of judged)
    for (const { id, granted } of result.roles) {
      const rule = check.rules.find(({ roleId }) => roleId === id) as SentRule;
      const block = result.blocks[String(CHAIN_ID)]?.number ?? -1;
      const truth = await oracle(rule, check.account, block);
      if (truth !== granted) wrong.push(`${id} of ${check.account} at ${block}: ${granted}, not ${truth}`);
    }
  return wrong;
}
