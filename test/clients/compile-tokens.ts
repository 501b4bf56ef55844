import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { z } from 'zod';
import { compileSolidity, type SolidityCompiler } from '../../deploy/local/contracts/compile-solidity.ts';
import { report, run } from '../../deploy/local/setup/run.mjs';

const SOURCES = join(import.meta.dirname, 'tokens');
/** Answers as the registry of delegate.xyz does; the integration tests use it too. */
const REGISTRY = 'delegate-registry.sol';
const REGISTRY_FOLDER = join(import.meta.dirname, '..', 'support', 'contracts');

/** The compiler of each file, by its name in `package.json`; every other file takes the newest. */
const COMPILERS: Readonly<Record<string, string>> = {
  'openzeppelin-3.sol': 'solc-0.6',
  'openzeppelin-2.sol': 'solc-0.5',
  'openzeppelin-1.sol': 'solc-0.4',
  'old-style.sol': 'solc-0.4',
  'throw-style.sol': 'solc-0.4.8',
  'safe.sol': 'solc-0.7',
  'aave-stake.sol': 'solc-0.7',
};
const NEWEST = 'solc';
/** Older compilers refuse unknown EVM versions. The newest compiles for the oldest EVM here:
 * Ganache's. */
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

/** A contract whose constructor takes the holders. If it made the token itself, `deployed()`
 * returns the token's address. */
const Token = z.object({ name: z.string(), bytecode: z.string(), isMaker: z.boolean() });
export type Token = z.infer<typeof Token>;

/**
 * The compiled tokens, from the cache where a file is unchanged. Each file is compiled by a process
 * of its own, because a compiler keeps its memory and its listeners for good.
 *
 * @param packages the folder that has the packages of `package.json` in its `node_modules`
 */
export async function compileTokens(packages: string): Promise<Token[]> {
  const tokens: Token[] = [];
  for (const file of [REGISTRY, ...readdirSync(SOURCES).toSorted()]) {
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
  const folder = file === REGISTRY ? REGISTRY_FOLDER : SOURCES;
  const content = readFileSync(join(folder, file), 'utf8');
  const compiler = COMPILERS[file] ?? NEWEST;
  return { content, compiler, settings: compiler === NEWEST ? NEWEST_SETTINGS : SETTINGS };
}

/** @throws Error with the compiler's messages if one file does not compile. */
function compileFile(file: string, require: NodeJS.Require): Token[] {
  const { content, compiler, settings } = inputOf(file);
  const wrap = require('solc/wrapper') as (soljson: unknown) => SolidityCompiler;
  const contracts = compileSolidity(
    wrap(require(`${compiler}/soljson.js`)),
    { [file]: content },
    settings,
    require,
  );
  return Object.entries(contracts[file] ?? {}).map(([name, { abi, evm }]) => ({
    name,
    bytecode: `0x${evm.bytecode.object}`,
    isMaker: abi.some((member) => member.name === 'deployed'),
  }));
}

/** The logic behind proxies, never deployed on its own. */
const isLogic = ({ name }: Token): boolean => name.endsWith('Logic');

if (process.argv[1] === import.meta.filename) {
  const [, , packages = '', file = '', compiled = ''] = process.argv;
  const tokens = compileFile(file, createRequire(join(packages, 'package.json')));
  const draft = `${compiled}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(tokens));
  renameSync(draft, compiled);
}
