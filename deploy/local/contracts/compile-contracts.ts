// Compiles the demo tokens: `node deploy/local/contracts/compile-contracts.ts` writes the artefacts anew.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { z } from 'zod';
import { artifactFile } from './artifact-file.ts';

const CONTRACTS = ['DemoErc20', 'DemoErc721', 'DemoErc1155'] as const;

/** No metadata in the bytecode: it would hold a hash of the sources' paths. */
const SETTINGS = {
  evmVersion: 'cancun',
  optimizer: { enabled: true, runs: 200 },
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
} as const;

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

type Compiler = {
  compile(input: string, options: { import: (path: string) => { contents: string } }): string;
};

/** What is checked in for one contract: its interface and its creation code. */
export type Artifact = { readonly abi: readonly unknown[]; readonly bytecode: string };

/**
 * Compiles the demo tokens with the OpenZeppelin sources that are installed.
 *
 * @throws Error with the compiler's own words if one does not compile.
 */
export function compileContracts(): Map<string, Artifact> {
  const require = createRequire(import.meta.url);
  const solc = require('solc') as Compiler;
  const read = (path: string): string => readFileSync(require.resolve(path), 'utf8');
  const local = (name: string): string => readFileSync(join(import.meta.dirname, `${name}.sol`), 'utf8');
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(CONTRACTS.map((name) => [name, { content: local(name) }])),
    settings: SETTINGS,
  };
  const options = { import: (path: string) => ({ contents: read(path) }) };
  const output = Output.parse(JSON.parse(solc.compile(JSON.stringify(input), options)));
  const faults = output.errors.filter(({ severity }) => severity === 'error');
  if (faults.length > 0) throw new Error(faults.map((fault) => fault.formattedMessage).join('\n'));
  return new Map(CONTRACTS.map((name) => [name, artifactOf(name, output)]));
}

function artifactOf(name: string, output: z.infer<typeof Output>): Artifact {
  const compiled = output.contracts[name]?.[name];
  if (!compiled) throw new Error(`the compiler gave nothing for ${name}`);
  return { abi: compiled.abi, bytecode: `0x${compiled.evm.bytecode.object}` };
}

if (process.argv[1] === import.meta.filename)
  for (const [name, artifact] of compileContracts())
    writeFileSync(artifactFile(name), `${JSON.stringify(artifact, null, 2)}\n`);
