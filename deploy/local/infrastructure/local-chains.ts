import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '#shared/config.ts';
import { parseChainFile } from '#shared/contracts/chain-file.ts';
import { LOCAL_CHAIN_ID } from './chain.ts';

export type LocalChains = { readonly file: string; readonly hasDemoChain: boolean };

/**
 * The chain file that the services read: the user's, or a file with the demo chain alone.
 *
 * @throws Error that names the file and everything that is wrong in it.
 */
export function prepareChains(
  given: string | undefined,
  env: Environment,
  dir: string,
  demoChainPort: number,
): LocalChains {
  if (given !== undefined) return readGiven(given, env);
  const file = join(dir, 'chains.json');
  writeFileSync(file, `${JSON.stringify({ chains: [demoChain(demoChainPort)] }, null, 2)}\n`);
  return { file, hasDemoChain: true };
}

function readGiven(file: string, env: Environment): LocalChains {
  try {
    const { chains } = parseChainFile(readFileSync(file, 'utf8'), env, { keepsEndpoints: true });
    return { file, hasDemoChain: chains.some(({ chainId }) => chainId === LOCAL_CHAIN_ID) };
  } catch (cause) {
    throw new Error(`${file}: ${cause instanceof Error ? cause.message : 'cannot be read'}`, { cause });
  }
}

const demoChain = (port: number) => ({
  chainId: LOCAL_CHAIN_ID,
  name: 'Demo chain',
  nativeSymbol: 'ETH',
  nativeDecimals: 18,
  blockTimeMs: 1_000,
  endpoints: [{ url: `http://127.0.0.1:${port}` }],
});
