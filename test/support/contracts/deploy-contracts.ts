import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Contract, ContractFactory, type InterfaceAbi, JsonRpcProvider } from 'ethers';
import { type CompiledFiles, compileSolidity } from '../../../deploy/local/contracts/compile-solidity.ts';
import { waitUntil } from '../wait-until.ts';

const SOURCES = ['rich-rules.sol', 'delegate-registry.sol', 'wallets.sol'];
const SETTINGS = {
  evmVersion: 'cancun',
  optimizer: { enabled: true, runs: 200 },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
};

/** Compiles the contracts of this folder. @throws Error with the compiler's messages */
function compileContracts(): CompiledFiles[string] {
  const require = createRequire(import.meta.filename);
  const sources = SOURCES.map((file) => [file, readFileSync(join(import.meta.dirname, file), 'utf8')]);
  const compiled = compileSolidity(require('solc'), Object.fromEntries(sources), SETTINGS, require);
  return Object.assign({}, ...SOURCES.map((file) => compiled[file]));
}

/** Deploys contracts of this folder from unlocked accounts of a local chain, and sends transactions
 * to them. */
export function startDeployer(rpcUrl: string) {
  const compiled = compileContracts();
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
      const sent = await contract.getFunction(method).send(...args);
      await mined(sent.hash);
    },
    close: () => provider.destroy(),
  };
}
