import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Contract, ContractFactory, type InterfaceAbi, JsonRpcProvider } from 'ethers';
import { type CompiledFiles, compileSolidity } from '../../../deploy/local/contracts/compile-solidity.ts';
import { waitUntil } from '../wait-until.ts';

const SOURCES = ['rich-rules.sol', 'delegate-registry.sol', 'wallets.sol'];
const SETTINGS = {
  evmVersion: 'cancun',
  optimizer: { enabled: true, runs: 200 },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
};

type Contracts = CompiledFiles[string];
const load = createRequire(import.meta.filename);

/** Compiled contracts are kept between runs, as Node keeps compiled sources: a suite would take
 * seconds of CPU for them. */
const CACHE = join(process.env['NODE_COMPILE_CACHE'] ?? tmpdir(), 'contracts');
/** The compiler, and the packages that contracts import. */
const LOCKFILE = join(import.meta.dirname, '../../../package-lock.json');

/** Compiles contracts of this folder. @throws Error with the compiler's messages */
function compileContracts(files: readonly string[]): Contracts {
  const sources = files.map((file) => [file, readFileSync(join(import.meta.dirname, file), 'utf8')]);
  const key = createHash('sha256')
    .update(readFileSync(LOCKFILE))
    .update(JSON.stringify([sources, SETTINGS]))
    .digest('hex');
  const kept = join(CACHE, `${key}.json`);
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, 'utf8')) as Contracts;
  const compiled = compileSolidity(load('solc'), Object.fromEntries(sources), SETTINGS, load);
  const contracts = Object.assign({}, ...files.map((file) => compiled[file])) as Contracts;
  mkdirSync(CACHE, { recursive: true });
  // Another suite may read it meanwhile.
  writeFileSync(`${kept}.${process.pid}`, JSON.stringify(contracts));
  renameSync(`${kept}.${process.pid}`, kept);
  return contracts;
}

/** Contracts that packages have compiled, by the name of their file. */
const readArtifacts = (paths: readonly string[]): Contracts =>
  Object.fromEntries(
    paths.map((path) => {
      const { abi, bytecode } = load(path) as { abi: Contracts[string]['abi']; bytecode: string };
      return [basename(path, '.json'), { abi, evm: { bytecode: { object: bytecode } } }];
    }),
  );

type DeployerOptions = {
  /** Files of this folder. */
  readonly sources?: readonly string[];
  /** Artifacts, as `require` finds them. */
  readonly artifacts?: readonly string[];
};

/** An estimate would be of one block: in the next second the same transaction may need more. */
const GAS_MAX = 10_000_000;

/** Deploys contracts from unlocked accounts of a local chain, and sends transactions to them. */
export function startDeployer(rpcUrl: string, { sources = SOURCES, artifacts = [] }: DeployerOptions = {}) {
  const compiled = { ...compileContracts(sources), ...readArtifacts(artifacts) };
  const provider = new JsonRpcProvider(rpcUrl, undefined, { polling: true, pollingInterval: 20 });
  // The wait of ethers begins at the block that its first poll finds: if that is the transaction's
  // own, it lasts until the next block.
  const mined = (hash: string | undefined) =>
    waitUntil('the transaction to be mined', async () => {
      const receipt = await provider.getTransactionReceipt(hash ?? '');
      if (receipt?.status === 0) throw new Error('the transaction was reverted');
      return receipt ?? undefined;
    });
  const abiOf = (name: string) => compiled[name]?.abi as InterfaceAbi;
  return {
    provider,
    abiOf,
    async deploy(name: string, ...args: unknown[]) {
      const signer = await provider.getSigner(0);
      const factory = new ContractFactory(abiOf(name), compiled[name]?.evm.bytecode.object ?? '', signer);
      const contract = await factory.deploy(...args);
      await mined(contract.deploymentTransaction()?.hash);
      return contract.getAddress();
    },
    /** Sends a transaction of the account with this index, and waits until it is mined. */
    async send(from: number, name: string, address: string, method: string, ...args: unknown[]) {
      const contract = new Contract(address, abiOf(name), await provider.getSigner(from));
      const sent = await contract.getFunction(method).send(...args, { gasLimit: GAS_MAX });
      await mined(sent.hash);
    },
    close: () => provider.destroy(),
  };
}
