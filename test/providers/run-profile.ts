import { setTimeout as delay, setInterval as every } from 'node:timers/promises';
import type { SentRule } from '../support/builders/demo-rules.ts';
import type { TestCheck } from '../support/infrastructure/connect-test-chains.ts';
import { makeChainOracle } from '../support/judges/chain-oracle.ts';
import { hostileCheck, ordinaryCheck } from './checks.ts';
import type { Move } from './move-tokens.ts';
import type { MinedChain } from './provider/mined-chain.ts';
import type { Subject, Verdicts } from './subject.ts';

const SETTLE_POLL_MS = 250;

/** The phases of a run, ms. */
export type Times = {
  readonly warmUpMs: number;
  /** Ordinary checks alone, and then as long beside the hostile client. */
  readonly phaseMs: number;
  /** From the last move until all of them must have been noticed. */
  readonly drainMsMax: number;
  readonly ordinaryEveryMs: number;
  readonly hostileEveryMs: number;
};

export type Phase = 'warmUp' | 'ordinary' | 'hostile';

export type Outcome = {
  /** Moves that nobody noticed although the contract counts as followed. */
  readonly lost: readonly string[];
  /** Moves that nobody noticed, of contracts that do not count as followed. */
  readonly unread: readonly string[];
  readonly wrong: readonly string[];
  /** Ordinary checks with a rule that has no verdict. */
  readonly failed: Readonly<Record<Phase, readonly string[]>>;
  readonly checkCount: Readonly<Record<Phase, number>>;
  /** Calls of all endpoints while only ordinary checks ran, and the read batches of that time. */
  readonly callCount: number;
  readonly batchCount: number;
  /** The states that `following` showed, in order. */
  readonly states: readonly string[];
};

type Judged = { readonly check: TestCheck; readonly phase: Phase; readonly verdicts: Verdicts };

/**
 * Runs one provider: ordinary checks, then the same beside a hostile client, while the tokens of
 * the accounts move.
 *
 * @param moves resolves with all moves once the last one is in a block
 * @param isDead whether it refuses everything for good, so that nothing more is read
 */
export async function runProfile(
  chain: MinedChain,
  subject: Subject,
  {
    accounts,
    moves,
    isDead,
  }: {
    readonly accounts: readonly string[];
    readonly moves: Promise<readonly Move[]>;
    readonly isDead: boolean;
  },
  times: Times,
): Promise<Outcome> {
  const { chainId } = subject;
  let phase: Phase = 'warmUp';
  const judged: Judged[] = [];
  const running = new Set<Promise<void>>();
  const stopping = new AbortController();
  const send = (check: TestCheck, into: Judged[]): void => {
    const of = { check, phase };
    const sending = subject
      .judge(check)
      .then((verdicts) => void into.push({ ...of, verdicts }))
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
  const ordinary = repeat(times.ordinaryEveryMs, (count) =>
    send(ordinaryCheck(chain, chainId, accounts, count), judged),
  );
  await delay(times.warmUpMs);
  phase = 'ordinary';
  const before = { calls: subject.callCount(), batches: await subject.batchCount() };
  await delay(times.phaseMs);
  const callCount = subject.callCount() - before.calls;
  const batchCount = (await subject.batchCount()) - before.batches;
  phase = 'hostile';
  const hostile = repeat(times.hostileEveryMs, (count) => send(hostileCheck(chain, chainId, count), []));
  await delay(times.phaseMs);
  stopping.abort();
  await Promise.all([ordinary, hostile]);
  await Promise.all(running);
  const { lost, unread } = await settle(subject, await moves, { msMax: times.drainMsMax, isDead });
  return {
    lost,
    unread,
    wrong: await findWrong(chain, chainId, judged),
    failed: byPhase(judged, (of) => of.flatMap(failureOf)),
    checkCount: byPhase(judged, (of) => of.length),
    callCount,
    batchCount,
    states: [...new Set([...(await subject.states()).values()].flat())],
  };
}

/** Waits until every move was noticed, of a dead provider until `following` says so, and returns
 * those that were not. */
async function settle(
  subject: Subject,
  moves: readonly Move[],
  { msMax, isDead }: { readonly msMax: number; readonly isDead: boolean },
): Promise<{ lost: string[]; unread: string[] }> {
  const giveUpMs = performance.now() + msMax;
  for (;;) {
    const states = await subject.states();
    const isLive = (contract: string): boolean => states.get(contract)?.at(-1) === 'live';
    const missing = await subject.unnoticed(moves);
    const isSettled = !missing.some(({ contract }) => !isDead || isLive(contract));
    if (isSettled || performance.now() >= giveUpMs) {
      const describe = ({ contract, what }: { contract: string; what: string }) => `${contract} ${what}`;
      return {
        lost: missing.filter(({ contract }) => isLive(contract)).map(describe),
        unread: missing.filter(({ contract }) => !isLive(contract)).map(describe),
      };
    }
    await delay(SETTLE_POLL_MS);
  }
}

function byPhase<T>(judged: readonly Judged[], reduce: (of: readonly Judged[]) => T): Record<Phase, T> {
  const of = (phase: Phase) => reduce(judged.filter((each) => each.phase === phase));
  return { warmUp: of('warmUp'), ordinary: of('ordinary'), hostile: of('hostile') };
}

/** Why a check has a rule without a verdict, if it has one. */
function failureOf({ check, verdicts }: Judged): string[] {
  if (verdicts.roles.length === check.rules.length) return [];
  const { minBlock, atBlock } = check.consistency ?? { minBlock: {} };
  const where = atBlock ? 'atBlock' : Object.keys(minBlock).length > 0 ? 'minBlock' : 'head';
  return [`${where}: ${verdicts.errors[0]?.code ?? 'no answer'}`];
}

/** Verdicts that the chain itself contradicts at the reported block. */
async function findWrong(chain: MinedChain, chainId: number, judged: readonly Judged[]): Promise<string[]> {
  const oracle = makeChainOracle(chain.rpc, chain);
  const wrong: string[] = [];
  for (const { check, verdicts } of judged)
    for (const { id, granted } of verdicts.roles) {
      const rule = check.rules.find(({ roleId }) => roleId === id) as SentRule;
      const block = verdicts.blocks[String(chainId)]?.number ?? -1;
      const truth = await oracle(rule, check.account, block);
      if (truth !== granted) wrong.push(`${id} of ${check.account} at ${block}: ${granted}, not ${truth}`);
    }
  return wrong;
}
