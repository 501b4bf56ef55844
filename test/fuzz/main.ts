import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Fuzzes a whole local system over its own OpenAPI document: schemathesis, every check, valid and invalid bodies.
//
//   node test/fuzz/main.ts [cases per operation, default 2000]

const SCHEMATHESIS = 'schemathesis==4.32.5';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HERE = fileURLToPath(new URL('.', import.meta.url));
const VENV = join(ROOT, '.cache', 'fuzz');
/** Without the stateful phase: there is one link between operations, and the other tests walk it. */
const PHASES = ['--phases', 'examples,coverage,fuzzing'] as const;
const CASES = Number(process.argv[2] ?? 2_000);

type Ready = {
  readonly gateways: readonly [string];
  readonly chain: Readonly<Record<'erc20' | 'erc721' | 'erc1155', string>> & { readonly chainId: number };
  readonly app: { readonly apiKey: string };
};

/** Runs a command to its end and stops the whole run where it fails. */
function must(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? `exit ${status}`}`);
}

function installSchemathesis(): void {
  if (existsSync(join(VENV, 'bin', 'st'))) return;
  must('python3', ['-m', 'venv', VENV]);
  must(join(VENV, 'bin', 'pip'), ['install', '--quiet', SCHEMATHESIS]);
}

async function startSystem(data: string) {
  const args = ['deploy/local/start.ts', '--json', '--no-demo', '--port-base', '24300', '--data', data];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] });
  let printed = '';
  for await (const chunk of child.stdout) {
    printed += String(chunk);
    if (printed.includes('\n')) break;
  }
  if (printed === '') throw new Error('the local system did not start; npm start says why');
  return { child, ready: JSON.parse(printed) as Ready };
}

async function fuzz({ gateways, chain, app }: Ready): Promise<number> {
  const args = ['--config-file', join(HERE, 'schemathesis.toml'), 'run', `${gateways[0]}/openapi.json`];
  const child = spawn(
    join(VENV, 'bin', 'st'),
    [
      ...args,
      '-H',
      `x-api-key: ${app.apiKey}`,
      '-c',
      'all',
      '-n',
      String(CASES),
      '--continue-on-failure',
      ...PHASES,
    ],
    {
      // It leaves its own caches where it runs.
      cwd: VENV,
      stdio: 'inherit',
      env: {
        ...process.env,
        SCHEMATHESIS_HOOKS: 'hooks',
        PYTHONPATH: HERE,
        PYTHONDONTWRITEBYTECODE: '1',
        FUZZ_CHAIN_ID: String(chain.chainId),
        FUZZ_CONTRACTS: [chain.erc20, chain.erc721, chain.erc1155]
          .map((address) => address.toLowerCase())
          .join(','),
      },
    },
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

installSchemathesis();
const data = mkdtempSync(join(tmpdir(), 'rolecall-fuzz-'));
const { child, ready } = await startSystem(data);
try {
  process.exitCode = await fuzz(ready);
} finally {
  child.kill('SIGTERM');
  if (child.exitCode === null) await once(child, 'exit');
  rmSync(data, { recursive: true, force: true });
}
