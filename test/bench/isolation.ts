import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { TokenRule } from '#shared/contracts/rules/rule.ts';
import { startChain } from '../../deploy/local/infrastructure/chain.ts';
import { callJsonRpc } from '../../deploy/local/infrastructure/json-rpc.ts';
import { findFreePorts } from '../../deploy/local/settings/ports.ts';
import { deployHostileContracts } from '../support/contracts/hostile-contracts.ts';
import type { Fault, FaultKind } from '../support/fakes/rpc-fault-proxy.ts';
import { quantile } from '../support/figures/quantile.ts';
import {
  connectTestChains,
  type TestChains,
  type TestCheck,
} from '../support/infrastructure/connect-test-chains.ts';
import type { Row, Table } from './row.ts';

const SOUND = 31_337;
const FAULTY = 5;
const CHECKS_PER_SECOND = 100;
const SECONDS = 3;
/** Each figure is the best of this many rounds, both sides in turn: other work of the machine slows single rounds. */
const ROUNDS = 3;
/** Load before the figures of a fault, until its breakers are open and its suspects are known. */
const SETTLE_SECONDS = 1;
const RPC_LATENCY_MS = 20;
const ATTEMPT_MS = 3_000;
const EVALUATION_MS = 4_000;

const FAULTS: readonly (readonly [string, Fault | FaultKind])[] = [
  ['slow, 1.5 s a call', { kind: 'none', delayMs: 1_500 }],
  ...(
    [
      'refuse',
      'hang',
      'reset',
      'http-429',
      'http-500',
      'malformed',
      'endless-body',
      'rpc-error',
      'short-batch',
      'wrong-id',
      'wrong-chain-id',
      'stale-head',
      'unknown-block',
      'ignored-pin',
      'altered-balance',
    ] as const
  ).map((kind) => [kind, kind] as const),
];
const HOSTILE = ['infiniteLoop', 'returnBomb', 'revertBomb', 'selfDestructs', 'decimals256'] as const;

type FaultProxy = AsyncDisposable & {
  readonly url: string;
  setFault(fault: Fault | FaultKind): Promise<void>;
};

async function startProxy(target: string, chainId: number): Promise<FaultProxy> {
  const worker = new Worker(new URL('./fault-proxy-worker.ts', import.meta.url), {
    workerData: { target, chainId },
  });
  const [url] = (await once(worker, 'message')) as [string];
  return {
    url,
    async setFault(fault) {
      worker.postMessage(fault);
      await once(worker, 'message');
    },
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
}

let lastAccount = 2n ** 140n;
const newAccount = (): string => {
  lastAccount += 1n;
  return `0x${lastAccount.toString(16).padStart(40, '0')}`;
};

/** Judges checks at a fixed rate, however long each takes, and returns the duration of each in ms. */
async function judgeSteadily(chains: TestChains, seconds: number, next: () => TestCheck): Promise<number[]> {
  const tookMs: number[] = [];
  const open: Promise<void>[] = [];
  const startedMs = performance.now();
  for (let count = 0; count < seconds * CHECKS_PER_SECOND; count++) {
    const dueMs = startedMs + (count * 1_000) / CHECKS_PER_SECOND;
    await sleep(Math.max(0, dueMs - performance.now()));
    open.push(chains.judge(next()).then(() => void tookMs.push(performance.now() - dueMs)));
  }
  await Promise.all(open);
  return tookMs;
}

/** One evaluator with a working and a faulty chain: how long checks of the working one take while the other fails. */
export async function benchIsolation(): Promise<Table> {
  const [soundPort = 0, faultyPort = 0] = await findFreePorts(2);
  await using sound = await startChain({ port: soundPort });
  await using faulty = await startChain({ port: faultyPort });
  // A stale block is one before the tokens' holders existed: it must exist to be served.
  for (const { rpc } of [sound, faulty]) await callJsonRpc(rpc, 'anvil_mine', ['0x40']);
  const hostile = await deployHostileContracts(sound.rpc);
  await using soundProxy = await startProxy(sound.rpc, SOUND);
  await using faultyProxy = await startProxy(faulty.rpc, FAULTY);
  await soundProxy.setFault({ kind: 'none', delayMs: RPC_LATENCY_MS });
  const ruleOf = (chainId: number, over: Partial<TokenRule> = {}): TokenRule => ({
    type: 'ERC20',
    chainId,
    contractAddress: sound.erc20,
    roleId: 'r',
    minToken: '1',
    ...over,
  });
  const good = (): TestCheck => ({ account: newAccount(), clientId: 'app_good', rules: [ruleOf(SOUND)] });
  const bad =
    (rule: TokenRule, over: Partial<TestCheck> = {}) =>
    (): TestCheck => ({
      account: newAccount(),
      clientId: 'app_bad',
      rules: [rule],
      ...over,
    });

  async function measure(beside: () => TestCheck): Promise<number> {
    await using chains = connectTestChains(
      [
        { chainId: SOUND, urls: [soundProxy.url] },
        { chainId: FAULTY, urls: [faultyProxy.url] },
      ],
      { attemptTimeoutMs: ATTEMPT_MS, evaluationMsMax: EVALUATION_MS },
    );
    const others = judgeSteadily(chains, SETTLE_SECONDS + SECONDS, beside);
    await judgeSteadily(chains, SETTLE_SECONDS, good);
    const tookMs = await judgeSteadily(chains, SECONDS, good);
    await others;
    return quantile(tookMs, 0.99);
  }
  async function compare(what: string, beside: () => TestCheck, fault: Fault | FaultKind): Promise<Row> {
    const base: number[] = [];
    const measured: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await faultyProxy.setFault('none');
      base.push(await measure(bad(ruleOf(FAULTY))));
      await faultyProxy.setFault(fault);
      measured.push(await measure(beside));
    }
    return {
      what,
      measured: Math.min(...measured),
      unit: 'ms',
      against: { what: 'both sound', measured: Math.min(...base) },
      goal: { of: 'ratio', max: 1.5 },
    };
  }

  const rows: Row[] = [];
  for (const [what, fault] of FAULTS) rows.push(await compare(what, bad(ruleOf(FAULTY)), fault));
  const head = Number(await callJsonRpc(sound.rpc, 'eth_blockNumber', []));
  const minBlock = { [String(SOUND)]: head + 8 };
  const ahead = bad(ruleOf(SOUND), { consistency: { blockTag: 'latest', minBlock } });
  rows.push(await compare('a block that is not mined', ahead, 'none'));
  for (const name of HOSTILE) {
    const token = bad(ruleOf(SOUND, { contractAddress: hostile[name] }));
    rows.push(await compare(`token on the same chain: ${name}`, token, 'none'));
  }
  return {
    title: 'isolation: p99 of checks of a working chain while another chain, or a token, fails',
    rows,
    notes: [
      `${CHECKS_PER_SECOND} checks/s of each of two clients in one evaluator, ${SECONDS} s at a time, the best of ${ROUNDS}; the sound chain answers after ${RPC_LATENCY_MS} ms.`,
    ],
  };
}
