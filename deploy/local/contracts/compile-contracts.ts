// Compiles the demo tokens: `node deploy/local/contracts/compile-contracts.ts` rewrites the
// artefacts.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { artifactFile } from './artifact-file.ts';
import { type CompiledFiles, compileSolidity } from './compile-solidity.ts';

const CONTRACTS = ['DemoErc20', 'DemoErc721', 'DemoErc1155'] as const;

/** No metadata in the bytecode: it would hold a hash of the sources' paths. */
const SETTINGS = {
  evmVersion: 'cancun',
  optimizer: { enabled: true, runs: 200 },
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
} as const;

/** The checked-in artefact of one contract: its interface and its creation code. */
type Artifact = { readonly abi: readonly unknown[]; readonly bytecode: string };

/**
 * Compiles the demo tokens with the OpenZeppelin sources that are installed.
 *
 * @throws Error with the compiler's messages if one does not compile
 */
export function compileContracts(): Map<string, Artifact> {
  const require = createRequire(import.meta.url);
  const sources = CONTRACTS.map((name) => [
    name,
    readFileSync(join(import.meta.dirname, `${name}.sol`), 'utf8'),
  ]);
  const compiled = compileSolidity(require('solc'), Object.fromEntries(sources), SETTINGS, require);
  return new Map(CONTRACTS.map((name) => [name, artifactOf(name, compiled)]));
}

function artifactOf(name: string, files: CompiledFiles): Artifact {
  const compiled = files[name]?.[name];
  if (!compiled) throw new Error(`the compiler returned no contract ${name}`);
  return { abi: compiled.abi, bytecode: `0x${compiled.evm.bytecode.object}` };
}

if (process.argv[1] === import.meta.filename)
  for (const [name, artifact] of compileContracts())
    writeFileSync(artifactFile(name), `${JSON.stringify(artifact, null, 2)}\n`);
