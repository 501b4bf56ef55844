// Compiles the reader: `npx node services/evaluator/chain/reader/compile-reader.ts` writes
// reader-code.ts.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { z } from 'zod';

const SOURCE = 'reader.yul';

/** Paris has no PUSH0, which some chains still lack. */
const SETTINGS = {
  evmVersion: 'paris',
  optimizer: { enabled: true, runs: 1_000_000, details: { yul: true } },
  outputSelection: { '*': { '*': ['evm.bytecode.object'] } },
} as const;

const Output = z.object({
  errors: z.array(z.object({ severity: z.string(), formattedMessage: z.string() })).default([]),
  contracts: z
    .object({
      [SOURCE]: z.object({
        Reader: z.object({ evm: z.object({ bytecode: z.object({ object: z.string() }) }) }),
      }),
    })
    .optional(),
});

/**
 * The text of `reader-code.ts` as the compiler that is installed makes it.
 *
 * @throws Error with the compiler's own words if the source does not compile.
 */
export function compileReader(): string {
  const require = createRequire(import.meta.url);
  const solc = require('solc') as { compile(input: string): string };
  const content = readFileSync(join(import.meta.dirname, SOURCE), 'utf8');
  const input = { language: 'Yul', sources: { [SOURCE]: { content } }, settings: SETTINGS };
  const output = Output.parse(JSON.parse(solc.compile(JSON.stringify(input))));
  const faults = output.errors.filter(({ severity }) => severity === 'error');
  if (faults.length > 0) throw new Error(faults.map((fault) => fault.formattedMessage).join('\n'));
  const code = output.contracts?.[SOURCE].Reader.evm.bytecode.object ?? '';
  return `// Made from reader.yul by compile-reader.ts; a test compiles it again and compares.
export const READER_CODE =
  '0x${code}';
`;
}

if (process.argv[1] === import.meta.filename)
  writeFileSync(join(import.meta.dirname, 'reader-code.ts'), compileReader());
