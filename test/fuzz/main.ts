import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BATCH_PATH, CHECK_PATH, RULE_SETS_PATH, WATCHES_PATH } from '#shared/contracts/paths.ts';
import { demoRules } from '../support/builders/demo-rules.ts';
import { receiveWebhooks } from '../support/fakes/receive-webhooks.ts';
import { type StartedSystem, startSystem } from '../support/systems/start-system.ts';

// Fuzzes a whole local system by its own OpenAPI document: schemathesis, all of its checks, valid
// and invalid bodies. It exits with 1 if an answer is not as documented, or if an operation
// accepted no request.
//
//   node test/fuzz/main.ts [cases per operation, default 300]

const SCHEMATHESIS = 'schemathesis==4.32.5';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HERE = fileURLToPath(new URL('.', import.meta.url));
const VENV = join(ROOT, '.cache', 'fuzz');
const REPORT = join(VENV, 'report.json');
/** Without the stateful phase: `hooks.py` makes operations name the same few documents instead. */
const PHASES = ['--phases', 'examples,coverage,fuzzing'] as const;
const CASES = Number(process.argv[2] ?? 300);
/** A poll may wait for 25 s. */
const REQUEST_TIMEOUT_S = 30;
/** Of rule sets and of watches that are there whenever a request is sent. The examples in the
 * document name the first two. */
const NAMES = ['holders', 'members', 'spare'] as const;
const MEMBERS = [`0x${'1'.repeat(40)}`, 'member-2'] as const;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Runs a command to its end and stops the whole run if it fails. */
function must(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? `exit ${status}`}`);
}

function installSchemathesis(): void {
  if (existsSync(join(VENV, 'bin', 'st'))) return;
  must('python3', ['-m', 'venv', VENV]);
  must(join(VENV, 'bin', 'pip'), ['install', '--quiet', SCHEMATHESIS]);
}

type Seed = { readonly method: 'PUT' | 'POST'; readonly path: string; readonly body: object };

/** The requests that create rule sets, watches with members, a check and a batch. `hooks.py` sends
 * them. */
function seedOf({ chain }: StartedSystem, callbackUrl: string): Seed[] {
  const rules = [demoRules(chain).erc20()];
  const ruleSets = NAMES.map((id) => `${RULE_SETS_PATH}/${id}`);
  const watches = NAMES.map((id) => `${WATCHES_PATH}/${id}`);
  const [account, ref] = MEMBERS;
  const members = { add: [account, { account: chain.holder, ref }] };
  return [
    ...ruleSets.map((path) => ({ method: 'PUT', path, body: { rules } }) as const),
    ...watches.map((path) => ({ method: 'PUT', path, body: { ruleSet: NAMES[0], callbackUrl } }) as const),
    ...watches.map((path) => ({ method: 'POST', path: `${path}/members`, body: members }) as const),
    { method: 'POST', path: CHECK_PATH, body: { account: chain.holder, rules, async: true } },
    { method: 'POST', path: BATCH_PATH, body: { entries: [chain.holder, chain.stranger], rules } },
  ];
}

async function fuzz(system: StartedSystem, callbackUrl: string): Promise<number> {
  const { ready, chain } = system;
  const url = ready.gateways[0] ?? '';
  const args = ['--config-file', join(HERE, 'schemathesis.toml'), 'run', `${url}/openapi.json`];
  const child = spawn(
    join(VENV, 'bin', 'st'),
    [
      ...args,
      ...['-H', `x-api-key: ${ready.app.apiKey}`],
      ...['-c', 'all'],
      ...['-n', String(CASES)],
      ...['--request-timeout', String(REQUEST_TIMEOUT_S)],
      '--continue-on-failure',
      ...PHASES,
      ...['--report', 'json', '--report-json-path', REPORT],
    ],
    {
      // schemathesis writes its caches into the working directory.
      cwd: VENV,
      stdio: 'inherit',
      env: {
        ...process.env,
        SCHEMATHESIS_HOOKS: 'hooks',
        PYTHONPATH: HERE,
        PYTHONDONTWRITEBYTECODE: '1',
        FUZZ_URL: url,
        FUZZ_API_KEY: ready.app.apiKey,
        FUZZ_CHAIN_ID: String(chain.chainId),
        FUZZ_CONTRACTS: [chain.erc20, chain.erc721, chain.erc1155]
          .map((address) => address.toLowerCase())
          .join(','),
        FUZZ_CALLBACK_URL: callbackUrl,
        FUZZ_NAMES: NAMES.join(','),
        FUZZ_MEMBERS: MEMBERS.join(','),
        FUZZ_SEED: JSON.stringify(seedOf(system, callbackUrl)),
      },
    },
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  return (code ?? 1) === 0 && everyOperationWasAccepted() ? 0 : 1;
}

type Report = {
  readonly operations: { readonly total: number; readonly tested: number };
  /** By operation and phase. */
  readonly valid_rates: Readonly<Record<string, Readonly<Record<string, { readonly accepted: number }>>>>;
};

/** 404 where the public address is not https. */
const NEVER_ACCEPTED: ReadonlySet<string> = new Set(['GET /.well-known/authzen-configuration']);

/** A run that never got past the validation of an operation says little about it. */
function everyOperationWasAccepted(): boolean {
  const { operations, valid_rates: rates } = JSON.parse(readFileSync(REPORT, 'utf8')) as Report;
  const refused = Object.entries(rates).filter(
    ([operation, phases]) =>
      !NEVER_ACCEPTED.has(operation) && Object.values(phases).every(({ accepted }) => accepted === 0),
  );
  say(`${operations.tested} of ${operations.total} operations were called`);
  for (const [operation] of refused) say(`no valid request was accepted by ${operation}`);
  return operations.tested === operations.total && refused.length === 0;
}

installSchemathesis();
await using receiver = await receiveWebhooks();
await using system = await startSystem();
process.exitCode = await fuzz(system, receiver.url);
