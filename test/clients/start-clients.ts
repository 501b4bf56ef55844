import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChain } from '../../deploy/local/infrastructure/chain.ts';
import { callJsonRpc } from '../../deploy/local/infrastructure/json-rpc.ts';
import { spawnChild } from '../../deploy/local/processes/child.ts';
import { waitUntilUp } from '../../deploy/local/processes/wait-until-up.ts';
import { findFreePorts } from '../../deploy/local/settings/ports.ts';
import { run } from '../../deploy/local/setup/run.mjs';
import { MULTICALL3_CODE } from '../support/contracts/multicall3-code.ts';
import type { Prepared } from './prepare.ts';

export const CHAIN_ID = 31_337;
const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11';
/** The contract that keeps block hashes in state, and its code (EIP-2935). */
const HISTORY = '0x0000F90827F1C53a10cb7A02335B175320002935';
const HISTORY_CODE =
  '0x3373fffffffffffffffffffffffffffffffffffffffe14604657602036036042575f35600143038111604257611fff81430311604257611fff9006545f5260205ff35b5f5ffd5b5f35611fff60014303065500';
/** The phrase of the accounts that every local chain funds; go-ethereum funds only the ninth, which
 * deploys. */
const PHRASE = 'test test test test test test test test test test test junk';
const DEPLOYER = '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720';
const GAS_LIMIT = 60_000_000;

export type Client = {
  readonly name: string;
  /** Whether it supports accounts with delegated code. */
  readonly hasEip7702: boolean;
  /** A client that is asked only for what it does not have, and started only if it is named. */
  readonly isOnlyAsked?: boolean;
  /** Default the chain id of local chains. */
  readonly chainId?: number;
  /** Starts the client with Multicall3 at its address, or returns why this machine cannot start
   * it. */
  start(prepared: Prepared): Promise<RunningClient | string>;
};

export type RunningClient = AsyncDisposable & { readonly rpc: string };

async function startAnvil(): Promise<RunningClient> {
  const [port = 0] = await findFreePorts(1);
  const chain = await startChain({ port, args: ['--gas-limit', String(GAS_LIMIT)] });
  const forget = killAtExit(chain.pid);
  await callJsonRpc(chain.rpc, 'anvil_setCode', [MULTICALL3, MULTICALL3_CODE]);
  return {
    rpc: chain.rpc,
    async [Symbol.asyncDispose]() {
      await chain.stop();
      forget();
    },
  };
}

async function startGeth({ geth }: Prepared): Promise<RunningClient | string> {
  if (geth === undefined) return 'Go is not installed, and go-ethereum is built with it';
  return startInFolder(async (folder, port) => {
    // This client has no call that sets code: Multicall3 is in the genesis block.
    const genesis = {
      config: { ...GETH_FORKS, chainId: CHAIN_ID },
      difficulty: '0x0',
      gasLimit: `0x${GAS_LIMIT.toString(16)}`,
      alloc: {
        [MULTICALL3]: { balance: '0x0', code: MULTICALL3_CODE },
        [HISTORY]: { balance: '0x0', nonce: '0x1', code: HISTORY_CODE },
        [DEPLOYER]: { balance: '0x3635c9adc5dea00000' },
        ...Object.fromEntries(GETH_QUEUES.map((address) => [address, { balance: '0x0', code: '0x00' }])),
      },
    };
    const file = join(folder, 'genesis.json');
    writeFileSync(file, JSON.stringify(genesis));
    await run(geth, ['--datadir', folder, 'init', file]);
    const http = ['--http', '--http.addr', '127.0.0.1', '--http.port', String(port)];
    const alone = ['--nodiscover', '--maxpeers', '0', '--port', '0', '--authrpc.port', '0', '--ipcdisable'];
    return { program: geth, args: ['--datadir', folder, '--dev', ...http, ...alone] };
  });
}

/** Blocks are produced only if the withdrawal and consolidation queues have code (EIP-7002,
 * EIP-7251); here the queues stay empty. */
const GETH_QUEUES = [
  '0x00000961Ef480Eb55e80D19ad83579A64c007002',
  '0x0000BBdDc7CE488642fb579F8B00f3a590007251',
] as const;

/** The forks up to Prague, with accounts that have code (EIP-7702), from the first block. */
const GETH_FORKS = {
  homesteadBlock: 0,
  eip150Block: 0,
  eip155Block: 0,
  eip158Block: 0,
  byzantiumBlock: 0,
  constantinopleBlock: 0,
  petersburgBlock: 0,
  istanbulBlock: 0,
  berlinBlock: 0,
  londonBlock: 0,
  shanghaiTime: 0,
  cancunTime: 0,
  pragueTime: 0,
  terminalTotalDifficulty: 0,
  blobSchedule: {
    cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
    prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
  },
};

const startHardhat2 = ({ packages }: Prepared) =>
  startHardhat(packages, 'hardhat-2', join('internal', 'cli', 'cli.js'), {
    networks: { hardhat: { chainId: CHAIN_ID, blockGasLimit: GAS_LIMIT } },
  });

const startHardhat3 = ({ packages }: Prepared) =>
  startHardhat(packages, 'hardhat-3', join('dist', 'src', 'cli.js'), {
    networks: { node: { type: 'edr-simulated', chainId: CHAIN_ID, blockGasLimit: GAS_LIMIT } },
  });

async function startHardhat(
  packages: string,
  name: string,
  program: string,
  config: object,
): Promise<RunningClient> {
  const running = await startInFolder(async (folder, port) => {
    // Hardhat runs only where a package named exactly so is installed.
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(join(packages, 'node_modules', name), join(folder, 'node_modules', 'hardhat'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    const isCommonJs = name === 'hardhat-2';
    const file = join(folder, `hardhat.config.${isCommonJs ? 'cjs' : 'mjs'}`);
    const settings = JSON.stringify({ solidity: '0.8.20', ...config });
    writeFileSync(file, `${isCommonJs ? 'module.exports =' : 'export default'} ${settings};`);
    const at = ['--hostname', '127.0.0.1', '--port', String(port)];
    const cli = join(folder, 'node_modules', 'hardhat', program);
    return { program: process.execPath, args: [cli, '--config', file, 'node', ...at], cwd: folder };
  });
  await callJsonRpc(running.rpc, 'hardhat_setCode', [MULTICALL3, MULTICALL3_CODE]);
  return running;
}

async function startGanache({ packages }: Prepared): Promise<RunningClient> {
  const running = await startInFolder(async (folder, port) => {
    const cli = join(packages, 'node_modules', 'ganache', 'dist', 'node', 'cli.js');
    const server = ['--server.host', '127.0.0.1', '--server.port', String(port)];
    const chain = ['--chain.chainId', String(CHAIN_ID), '--miner.blockGasLimit', String(GAS_LIMIT)];
    const wallet = ['--wallet.mnemonic', PHRASE];
    return { program: process.execPath, args: [cli, ...server, ...chain, ...wallet], cwd: folder };
  });
  await callJsonRpc(running.rpc, 'evm_setAccountCode', [MULTICALL3, MULTICALL3_CODE]);
  return running;
}

/** A network of one node; its C-Chain is coreth's, with a chain id of its own. */
async function startAvalanche({ avalanche }: Prepared): Promise<RunningClient | string> {
  if (avalanche === undefined) return 'Go is not installed, and avalanchego is built with it';
  const [stakingPort = 0] = await findFreePorts(1);
  const start = async (folder: string, port: number): Promise<Command> => {
    const alone = [
      '--network-id=local',
      '--sybil-protection-enabled=false',
      '--bootstrap-ips=',
      '--bootstrap-ids=',
    ];
    const at = [`--http-port=${port}`, `--staking-port=${stakingPort}`, '--staking-host=127.0.0.1'];
    const limits = ['--public-ip=127.0.0.1', '--fd-limit=8192', `--data-dir=${folder}`];
    return { program: avalanche, args: [...alone, ...at, ...limits] };
  };
  return startInFolder(start, { path: '/ext/bc/C/rpc', chainId: AVALANCHE_CHAIN_ID });
}

const AVALANCHE_CHAIN_ID = 43_112;

/** Stops a client when the run is interrupted. Returns a function that removes this handler. */
function killAtExit(pid: number): () => void {
  const kill = () => void process.kill(pid, 'SIGKILL');
  process.once('exit', kill);
  return () => void process.off('exit', kill);
}

type Command = { readonly program: string; readonly args: readonly string[]; readonly cwd?: string };

/** Starts a client that keeps its files in a temporary folder, which is removed with it. */
async function startInFolder(
  prepareCommand: (folder: string, port: number) => Promise<Command>,
  { path = '', chainId = CHAIN_ID } = {},
): Promise<RunningClient> {
  const folder = mkdtempSync(join(tmpdir(), 'rolecall-client-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const [port = 0] = await findFreePorts(1);
  try {
    const { program, args, cwd = folder } = await prepareCommand(folder, port);
    const env = { ...process.env, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true', CI: '1', NODE_OPTIONS: '' };
    const child = await spawnChild(program, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
    const forget = killAtExit(child.pid);
    let log = '';
    child.process.stderr?.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-2_000);
    });
    const rpc = `http://127.0.0.1:${port}${path}`;
    const isUp = async () => Number(await callJsonRpc(rpc, 'eth_chainId', [])) === chainId;
    const stop = async () => {
      await child.stop();
      forget();
      remove();
    };
    try {
      await waitUntilUp(child, isUp, { what: program, logTail: () => log });
    } catch (error) {
      await stop();
      throw error;
    }
    return { rpc, [Symbol.asyncDispose]: stop };
  } catch (error) {
    remove();
    throw error;
  }
}

export const CLIENTS: readonly Client[] = [
  { name: 'go-ethereum', hasEip7702: true, start: startGeth },
  { name: 'anvil', hasEip7702: true, start: startAnvil },
  { name: 'hardhat-2', hasEip7702: true, start: startHardhat2 },
  { name: 'hardhat-3', hasEip7702: true, start: startHardhat3 },
  { name: 'ganache', hasEip7702: false, start: startGanache },
  {
    name: 'avalanche',
    hasEip7702: false,
    isOnlyAsked: true,
    chainId: AVALANCHE_CHAIN_ID,
    start: startAvalanche,
  },
];
