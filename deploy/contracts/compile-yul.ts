// Compiles the contracts that the evaluator puts into calls: `npx node
// deploy/contracts/compile-yul.ts` writes their code.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { z } from 'zod';

/** The folder of the contracts. */
export const CHAIN = join(import.meta.dirname, '../../services/evaluator/chain');

/** Contracts that are never deployed, and the files that hold their code. */
export const YUL_CONTRACTS = [
  { source: 'reader/reader.yul', object: 'Reader', file: 'reader/reader-code.ts', name: 'READER_CODE' },
  {
    source: 'wallets/ask-wallet.yul',
    object: 'AskWallet',
    file: 'wallets/ask-wallet-code.ts',
    name: 'ASK_WALLET_CODE',
  },
] as const;
type YulContract = (typeof YUL_CONTRACTS)[number];

/** Paris has no PUSH0, which some chains still lack. */
const SETTINGS = {
  evmVersion: 'paris',
  optimizer: { enabled: true, runs: 1_000_000, details: { yul: true } },
  outputSelection: { '*': { '*': ['evm.bytecode.object'] } },
} as const;

const Bytecode = z.object({ evm: z.object({ bytecode: z.object({ object: z.string() }) }) });
const Output = z.object({
  errors: z.array(z.object({ severity: z.string(), formattedMessage: z.string() })).default([]),
  contracts: z.record(z.string(), z.record(z.string(), Bytecode)).optional(),
});

/**
 * The text of a contract's file as the compiler that is installed makes it.
 *
 * @throws Error with the compiler's own words if the source does not compile.
 */
export function compileYul({ source, object, name }: YulContract): string {
  const require = createRequire(import.meta.url);
  const solc = require('solc') as { compile(input: string): string };
  const content = readFileSync(join(CHAIN, source), 'utf8');
  const input = { language: 'Yul', sources: { [source]: { content } }, settings: SETTINGS };
  const output = Output.parse(JSON.parse(solc.compile(JSON.stringify(input))));
  const faults = output.errors.filter(({ severity }) => severity === 'error');
  if (faults.length > 0) throw new Error(faults.map((fault) => fault.formattedMessage).join('\n'));
  const code = output.contracts?.[source]?.[object]?.evm.bytecode.object ?? '';
  return `// Made from ${basename(source)} by compile-yul.ts; a test compiles it again and compares.
export const ${name} =
  '0x${code}';
`;
}

if (process.argv[1] === import.meta.filename)
  for (const contract of YUL_CONTRACTS) writeFileSync(join(CHAIN, contract.file), compileYul(contract));
