import { createRequire } from 'node:module';
import { type DemoTokens, demoTokens, deployDemoTokens } from '../demo/demo-tokens.ts';
import { type Child, spawnChild } from '../processes/child.ts';
import { waitUntilUp } from '../processes/wait-until-up.ts';
import { requireFreePorts } from '../settings/ports.ts';
import { callJsonRpc } from './json-rpc.ts';

const STOP_TIMEOUT_MS = 5_000;

/** The chain id by which local chains are known. */
export const LOCAL_CHAIN_ID = 31_337;

type ChainOptions = {
  readonly port: number;
  /** 31 337 by default. */
  readonly chainId?: number;
  /** Where it listens; loopback by default, for anvil has no access control. */
  readonly host?: string;
  readonly signal?: AbortSignal | undefined;
  readonly onSpawn?: ((pid: number) => void) | undefined;
  /** Further arguments for anvil. */
  readonly args?: readonly string[];
};

export type RunningChain = Child & DemoTokens & { readonly chainId: number; readonly rpc: string };

/**
 * Starts anvil with the demo tokens. It keeps nothing on disk: a chain that died comes back with
 * the same contracts at the same addresses and the same balances; its blocks have other hashes. A
 * block is mined for each transaction, and by `anvil_mine`.
 *
 * @throws Error if anvil ends (a port in use, for example) or is not up in 180 s; nothing is left
 *   running then.
 *
 * @example
 * await using chain = await startChain({ port: 21_005 });
 * chain.erc20; // '0x5FbDB2315678afecb367f032d93F642f64180aa3'
 */
export async function startChain(options: ChainOptions): Promise<RunningChain> {
  const { port, host = '127.0.0.1', chainId = LOCAL_CHAIN_ID, signal, onSpawn, args = [] } = options;
  await requireFreePorts([{ port, program: 'the demo chain' }]);
  const rpc = `http://127.0.0.1:${port}`;
  const child = await spawnChild(
    findAnvil(),
    ['--host', host, '--port', String(port), '--chain-id', String(chainId), '--quiet', ...args],
    { stdio: 'ignore', stopTimeoutMs: STOP_TIMEOUT_MS, onSpawn },
  );
  await waitUntilUp(child, () => isUp(rpc, chainId), { what: 'the chain (anvil)', signal });
  try {
    await deployDemoTokens(rpc);
    signal?.throwIfAborted();
  } catch (error) {
    await child.kill9();
    throw error;
  }
  return { ...child, chainId, rpc, ...demoTokens };
}

async function isUp(rpc: string, chainId: number): Promise<boolean> {
  return Number(await callJsonRpc(rpc, 'eth_chainId', [])) === chainId;
}

/** The program itself, not npm's wrapper around it, which would be a process that signals have to
 * pass. */
function findAnvil(): string {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = `@foundry-rs/anvil-${process.platform}-${architecture}`;
  const { resolve } = createRequire(import.meta.url);
  try {
    return resolve(`${name}/bin/anvil`);
  } catch (cause) {
    throw new Error(`there is no anvil for this machine (package ${name})`, { cause });
  }
}
