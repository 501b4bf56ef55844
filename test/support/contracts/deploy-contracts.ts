import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Contract, ContractFactory, type InterfaceAbi, JsonRpcProvider } from 'ethers';
import { z } from 'zod';

const SOURCE = 'rich-rules.sol';
const SETTINGS = {
  evmVersion: 'cancun',
  optimizer: { enabled: true, runs: 200 },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
};

const Output = z.object({
  errors: z.array(z.object({ severity: z.string(), formattedMessage: z.string() })).default([]),
  contracts: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({ abi: z.array(z.unknown()), evm: z.object({ bytecode: z.object({ object: z.string() }) }) }),
    ),
  ),
});

/** Compiles the contracts of `rich-rules.sol`. @throws Error with the compiler's own words */
function compileContracts() {
  const require = createRequire(import.meta.filename);
  const solc = require('solc') as {
    compile(input: string, options: { import: (path: string) => { contents: string } }): string;
  };
  const content = readFileSync(join(import.meta.dirname, SOURCE), 'utf8');
  const input = { language: 'Solidity', sources: { [SOURCE]: { content } }, settings: SETTINGS };
  const options = { import: (path: string) => ({ contents: readFileSync(require.resolve(path), 'utf8') }) };
  const { errors, contracts } = Output.parse(JSON.parse(solc.compile(JSON.stringify(input), options)));
  const faults = errors.filter(({ severity }) => severity === 'error');
  if (faults.length > 0) throw new Error(faults.map((fault) => fault.formattedMessage).join('\n'));
  return contracts[SOURCE] ?? {};
}

/** Deploys contracts of `rich-rules.sol` by unlocked accounts of a local chain, and sends transactions to them. */
export function startDeployer(rpcUrl: string) {
  const compiled = compileContracts();
  const provider = new JsonRpcProvider(rpcUrl, undefined, { polling: true, pollingInterval: 20 });
  const abiOf = (name: string) => compiled[name]?.abi as InterfaceAbi;
  return {
    provider,
    async deploy(name: string, ...args: unknown[]) {
      const signer = await provider.getSigner(0);
      const factory = new ContractFactory(abiOf(name), compiled[name]?.evm.bytecode.object ?? '', signer);
      const contract = await factory.deploy(...args);
      await contract.waitForDeployment();
      return contract.getAddress();
    },
    /** Sends a transaction of the account of this number, and waits until it is mined. */
    async send(from: number, name: string, address: string, method: string, ...args: unknown[]) {
      const contract = new Contract(address, abiOf(name), await provider.getSigner(from));
      const sent = await contract.getFunction(method).send(...args);
      await sent.wait();
    },
    close: () => provider.destroy(),
  };
}
