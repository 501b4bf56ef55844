// `npm run build:client`: writes the package @rolecall/client to dist/client, with types from the
// OpenAPI document. With `--types` it writes the types alone, which the type checker needs
// (`npm run check`): they are not in the repository, because they follow from the schemas.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeOpenApi } from '../../services/gateway/docs/openapi.ts';
import { generateTypes, type OpenApiDocument } from './generate-types.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SOURCE = join(ROOT, 'shared', 'client');
const OUT = join(ROOT, 'dist', 'client');
const ENTRY = './lib/client/index';

writeFileSync(join(SOURCE, 'api-types.ts'), generateTypes(makeOpenApi('') as unknown as OpenApiDocument));
if (process.argv.includes('--types')) process.exit();
rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
const { status } = spawnSync(
  process.execPath,
  [compiler, '-p', join(SOURCE, 'tsconfig.json'), '--outDir', join(OUT, 'lib')],
  {
    stdio: 'inherit',
  },
);
if (status !== 0) process.exit(1);
bringHashes();
cpSync(join(SOURCE, 'README.md'), join(OUT, 'README.md'));
cpSync(join(ROOT, 'LICENSE'), join(OUT, 'LICENSE'));
writeFileSync(join(OUT, 'package.json'), `${JSON.stringify(describePackage(), null, 2)}\n`);
console.log('dist/client is built; `npm pack ./dist/client` makes the tarball');

/** The package has no dependencies: it brings the files of @noble/hashes that it uses, each with
 * their licence. */
function bringHashes() {
  const hashes = join(ROOT, 'node_modules', '@noble', 'hashes');
  const into = join(OUT, 'lib', 'hashes');
  mkdirSync(into);
  const licence = `/*!\n${readFileSync(join(hashes, 'LICENSE'), 'utf8')}*/\n`;
  for (const name of ['sha3.js', '_u64.js', 'utils.js', 'crypto.js'])
    writeFileSync(join(into, name), licence + withHashesIn(join(hashes, 'esm', name), './'));
  const user = join(OUT, 'lib', 'contracts', 'rules', 'checksum-address.js');
  writeFileSync(user, withHashesIn(user, '../../hashes/'));
}

function withHashesIn(file: string, folder: string): string {
  return readFileSync(file, 'utf8').replace(/'@noble\/hashes\/(\w+)'/g, `'${folder}$1.js'`);
}

/** Version, licence and oldest Node are those of Rolecall itself. */
function describePackage() {
  const { version, license, engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return {
    name: '@rolecall/client',
    version,
    description: 'Ask Rolecall which roles a wallet holds the tokens for.',
    license,
    type: 'module',
    sideEffects: false,
    engines,
    exports: { '.': { types: `${ENTRY}.d.ts`, default: `${ENTRY}.js` } },
    files: ['lib'],
  };
}
