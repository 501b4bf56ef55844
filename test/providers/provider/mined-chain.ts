import { setTimeout as delay } from 'node:timers/promises';
import type { DemoTokens } from '../../../deploy/local/demo/demo-tokens.ts';
import { startChain } from '../../../deploy/local/infrastructure/chain.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { deployHostileContracts, type HostileContract } from '../../support/contracts/hostile-contracts.ts';

/** More than the hashes that EIP-2935 keeps, so that the contract can be asked for all of them. */
const FIRST_BLOCK = 10_000;
/** Blocks before the run, or a few more: more than nodes keep states of, so that there is pruned
 * state to ask for. */
const BLOCKS_BEFORE = 200;
/** Before these blocks, longer than it takes to deploy the contracts. */
const DEPLOY_MS = 60_000;

/** The fields of a header that the simulator needs. */
export type MinedBlock = {
  readonly number: number;
  readonly hash: string;
  readonly stateRoot: string;
  /** Unix seconds. */
  readonly timestamp: number;
  /** By the monotonic clock. */
  readonly minedMs: number;
};

/** A chain of a steady block time that knows when each of its blocks came. */
export type MinedChain = AsyncDisposable &
  DemoTokens & {
    readonly rpc: string;
    readonly blockTimeMs: number;
    /** Contracts that a hostile client names. */
    readonly hostile: Readonly<Record<HostileContract, string>>;
    readonly newest: () => MinedBlock;
    /** The newest block that a node has which gets blocks this late. */
    readonly newestAt: (lagMs: number) => MinedBlock;
    readonly byHash: (hash: string) => MinedBlock | undefined;
    readonly byNumber: (number: number) => MinedBlock | undefined;
  };

/** Starts anvil with the demo tokens and mines a block every `blockTimeMs`, with the time of the
 * machine's clock. The blocks before the run have the times that they would have had. */
export async function startMinedChain(blockTimeMs: number): Promise<MinedChain> {
  const [port = 0] = await findFreePorts(1);
  await using scope = new AsyncDisposableStack();
  const firstMs = Date.now() - BLOCKS_BEFORE * blockTimeMs;
  const genesis = Math.floor((firstMs - DEPLOY_MS) / 1_000);
  const args = ['--number', String(FIRST_BLOCK), '--timestamp', String(genesis)];
  const { rpc, pid, chainId: _, ...chain } = scope.use(await startChain({ port, args }));
  scope.use(killedAtExit(pid));
  const hostile = await deployHostileContracts(rpc);
  await callJsonRpc(rpc, 'evm_setAutomine', [false]);
  const mineAt = async (ms: number): Promise<void> => {
    await callJsonRpc(rpc, 'evm_setNextBlockTimestamp', [Math.floor(ms / 1_000)]);
    await callJsonRpc(rpc, 'evm_mine', []);
  };
  const blocks: MinedBlock[] = [];
  const byHash = new Map<string, MinedBlock>();
  const learn = async (number: number, minedMs: number): Promise<void> => {
    const header = await callJsonRpc(rpc, 'eth_getBlockByNumber', [`0x${number.toString(16)}`, false]);
    const { hash, stateRoot, timestamp } = header as { hash: string; stateRoot: string; timestamp: string };
    const block = { number, hash, stateRoot, timestamp: Number(timestamp), minedMs };
    blocks[number] = block;
    byHash.set(hash, block);
  };
  for (let ms = firstMs; ms < Date.now(); ms += blockTimeMs) await mineAt(ms);
  const count = Number(await callJsonRpc(rpc, 'eth_blockNumber', []));
  const numbers = Array.from({ length: count - FIRST_BLOCK + 1 }, (_, at) => FIRST_BLOCK + at);
  await Promise.all(numbers.map((number) => learn(number, Number.NEGATIVE_INFINITY)));
  const stopping = new AbortController();
  const mining = (async () => {
    for (let dueMs = performance.now(); ; dueMs += blockTimeMs) {
      await delay(Math.max(0, dueMs - performance.now()), undefined, { signal: stopping.signal });
      await mineAt(Date.now());
      await learn(blocks.length, performance.now());
    }
  })().catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });
  scope.defer(() => mining);
  scope.defer(() => stopping.abort());
  const newest = (): MinedBlock => blocks.at(-1) as MinedBlock;
  const whole = scope.move();
  return {
    ...chain,
    rpc,
    blockTimeMs,
    hostile,
    newest,
    newestAt(lagMs) {
      const nowMs = performance.now();
      return blocks.findLast(({ minedMs }) => nowMs - minedMs >= lagMs) ?? newest();
    },
    byHash: (hash) => byHash.get(hash),
    byNumber: (number) => blocks[number],
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}

/** Kills the chain when the process ends without having stopped it. */
function killedAtExit(pid: number): Disposable {
  const kill = () => void process.kill(pid, 'SIGKILL');
  process.once('exit', kill);
  return { [Symbol.dispose]: () => void process.off('exit', kill) };
}
