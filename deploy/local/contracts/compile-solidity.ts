import { readFileSync } from 'node:fs';
import { z } from 'zod';

const Output = z.object({
  errors: z.array(z.object({ severity: z.string(), formattedMessage: z.string() })).default([]),
  contracts: z
    .record(
      z.string(),
      z.record(
        z.string(),
        z.object({
          abi: z.array(z.looseObject({ name: z.string().optional() })),
          evm: z.object({ bytecode: z.object({ object: z.string() }) }),
        }),
      ),
    )
    .default({}),
});

/** The interface and the creation code of each contract, by file and name. The code is hex without
 * `0x`. */
export type CompiledFiles = z.infer<typeof Output>['contracts'];

/** A version of solc-js. */
export type SolidityCompiler = {
  compile(input: string, options: { import: (path: string) => { contents: string } }): string;
};

/**
 * Compiles Solidity files; imports are the files that `require` resolves.
 *
 * @param contents the source text by file name
 * @throws Error with the compiler's messages if a file does not compile
 *
 * @example
 * compileSolidity(require('solc'), { 'A.sol': text }, { outputSelection: OUTPUT }, require)['A.sol']?.['A']?.abi;
 */
export function compileSolidity(
  compiler: SolidityCompiler,
  contents: Readonly<Record<string, string>>,
  settings: object,
  require: Pick<NodeJS.Require, 'resolve'>,
): CompiledFiles {
  const sources = Object.fromEntries(Object.entries(contents).map(([file, content]) => [file, { content }]));
  const input = JSON.stringify({ language: 'Solidity', sources, settings });
  const options = { import: (path: string) => ({ contents: readFileSync(require.resolve(path), 'utf8') }) };
  const { errors, contracts } = Output.parse(JSON.parse(compiler.compile(input, options)));
  const faults = errors.filter(({ severity }) => severity === 'error');
  if (faults.length > 0) throw new Error(faults.map((fault) => fault.formattedMessage).join('\n'));
  return contracts;
}
