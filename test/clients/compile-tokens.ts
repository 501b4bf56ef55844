import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { z } from 'zod';
import { report, run } from '../../deploy/local/setup/run.mjs';

const SOURCES = join(import.meta.dirname, 'tokens');

/** The compiler of each file, as `package.json` calls it; for all others the newest. */
const COMPILERS: Readonly<Record<string, string>> = {
  'openzeppelin-3.sol': 'solc-0.6',
  'openzeppelin-2.sol': 'solc-0.5',
  'openzeppelin-1.sol': 'solc-0.4',
  'old-style.sol': 'solc-0.4',
  'throw-style.sol': 'solc-0.4.8',
  'safe.sol': 'solc-0.7',
};
const NEWEST = 'solc';
/** Older compilers refuse a name that they do not know. The newest writes for the oldest machine here: Ganache's. */
const SETTINGS = {
  optimizer: { enabled: true, runs: 200 },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
};
const NEWEST_SETTINGS = {
  ...SETTINGS,
  evmVersion: 'paris',
  // DN404 is written for Foundry, which finds Solady's sources without their folder.
  remappings: ['auth', 'utils'].map((folder) => `solady/${folder}/=solady/src/${folder}/`),
};

const Output = z.object({
  errors: z.array(z.object({ severity: z.string(), formattedMessage: z.string() })).default([]),
  contracts: z
    .record(
      z.string(),
      z.record(
        z.string(),
        z.object({
          abi: z.array(z.object({ type: z.string(), name: z.string().optional() })),
          evm: z.object({ bytecode: z.object({ object: z.string() }) }),
        }),
      ),
    )
    .default({}),
});

/** A contract whose constructor takes the holders. Where it made the token, `deployed()` says where that is. */
const Token = z.object({ name: z.string(), bytecode: z.string(), isMaker: z.boolean() });
export type Token = z.infer<typeof Token>;

type Compile = (input: string, options: { import: (path: string) => { contents: string } }) => string;

/**
 * The compiled tokens, from the cache where a file is as it was. Each file is compiled by a process of its own, because a
 * compiler keeps its memory and its listeners for good.
 *
 * @param packages the folder that has the packages of `package.json` in its `node_modules`
 */
export async function compileTokens(packages: string): Promise<Token[]> {
  const tokens: Token[] = [];
  for (const file of readdirSync(SOURCES).toSorted()) {
    const { content, compiler, settings } = inputOf(file);
    const hash = createHash('sha256')
      .update(JSON.stringify([content, compiler, settings]))
      .digest('hex');
    const compiled = join(packages, `${file}-${hash.slice(0, 16)}.json`);
    if (!existsSync(compiled)) {
      report(`compiling ${file}`);
      await run(process.execPath, [import.meta.filename, packages, file, compiled]);
    }
    tokens.push(...z.array(Token).parse(JSON.parse(readFileSync(compiled, 'utf8'))));
  }
  return tokens.filter((token) => !isLogic(token));
}

function inputOf(file: string) {
  const content = readFileSync(join(SOURCES, file), 'utf8');
  const compiler = COMPILERS[file] ?? NEWEST;
  return { content, compiler, settings: compiler === NEWEST ? NEWEST_SETTINGS : SETTINGS };
}

/** @throws Error with the compiler's own words if one file does not compile. */
function compileFile(file: string, require: NodeJS.Require): Token[] {
  const { content, compiler, settings } = inputOf(file);
  const wrap = require('solc/wrapper') as (soljson: unknown) => { compile: Compile };
  const { compile } = wrap(require(`${compiler}/soljson.js`));
  const input = { language: 'Solidity', sources: { [file]: { content } }, settings };
  const options = {
    import: (path: string) => ({ contents: readFileSync(require.resolve(path), 'utf8') }),
  };
  const { errors, contracts } = Output.parse(JSON.parse(compile(JSON.stringify(input), options)));
  const faults = errors.filter(({ severity }) => severity === 'error');
  if (faults.length > 0) throw new Error(faults.map((fault) => fault.formattedMessage).join('\n'));
  return Object.entries(contracts[file] ?? {}).map(([name, { abi, evm }]) => ({
    name,
    bytecode: `0x${evm.bytecode.object}`,
    isMaker: abi.some((member) => member.name === 'deployed'),
  }));
}

/** Logic behind proxies: never deployed by itself. */
const isLogic = ({ name }: Token): boolean => name.endsWith('Logic');

if (process.argv[1] === import.meta.filename) {
  const [, , packages = '', file = '', compiled = ''] = process.argv;
  const tokens = compileFile(file, createRequire(join(packages, 'package.json')));
  const draft = `${compiled}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(tokens));
  renameSync(draft, compiled);
}
