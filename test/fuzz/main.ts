import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BATCH_PATH, CHECK_PATH, RULE_SETS_PATH, WATCHES_PATH } from '#shared/contracts/paths.ts';
import { demoRules } from '../support/demo-rules.ts';
import { receiveWebhooks } from '../support/receive-webhooks.ts';
import { type StartedSystem, startSystem } from '../support/start-system.ts';

// Fuzzes a whole local system by its own OpenAPI document: schemathesis, all of its checks, valid and invalid bodies. It exits
// with 1 if an answer is not as documented, or if an operation accepted no request.
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
/**
 * The documents that are there from the start: requests made of the examples name the first, because `hooks.py` does not see
 * them; `hooks.py` gives the name of the second to others.
 */
const RULE_SETS = ['holders', 'kept'] as const;
const WATCHES = ['members', 'kept'] as const;

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

/** Creates resources that requests can name: rule sets, watches with members, a check and a batch. Returns the last two ids. */
async function seed(
  { ready, chain }: StartedSystem,
  callbackUrl: string,
): Promise<{ readonly checkId: string; readonly batchId: string }> {
  const send = async (method: string, path: string, body: unknown): Promise<string> => {
    const response = await fetch(`${ready.gateways[0]}${path}`, {
      method,
      headers: { 'x-api-key': ready.app.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { requestId?: string }).requestId ?? '';
  };
  const rules = [demoRules(chain).erc20()];
  for (const id of RULE_SETS) await send('PUT', `${RULE_SETS_PATH}/${id}`, { rules });
  for (const id of WATCHES) {
    await send('PUT', `${WATCHES_PATH}/${id}`, { ruleSet: 'kept', callbackUrl });
    await send('POST', `${WATCHES_PATH}/${id}/members`, {
      add: [`0x${'1'.repeat(40)}`, { account: chain.holder, ref: 'member-2' }],
    });
  }
  return {
    checkId: await send('POST', CHECK_PATH, { account: chain.holder, rules, async: true }),
    batchId: await send('POST', BATCH_PATH, { entries: [chain.holder, chain.stranger], rules }),
  };
}

async function fuzz(system: StartedSystem, callbackUrl: string): Promise<number> {
  const { ready, chain } = system;
  const { checkId, batchId } = await seed(system, callbackUrl);
  const args = ['--config-file', join(HERE, 'schemathesis.toml'), 'run', `${ready.gateways[0]}/openapi.json`];
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
        FUZZ_CHAIN_ID: String(chain.chainId),
        FUZZ_CONTRACTS: [chain.erc20, chain.erc721, chain.erc1155]
          .map((address) => address.toLowerCase())
          .join(','),
        FUZZ_CALLBACK_URL: callbackUrl,
        FUZZ_CHECK_ID: checkId,
        FUZZ_BATCH_ID: batchId,
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

/** A run that never got past the validation of an operation says little about it. */
function everyOperationWasAccepted(): boolean {
  const { operations, valid_rates: rates } = JSON.parse(readFileSync(REPORT, 'utf8')) as Report;
  const refused = Object.entries(rates).filter(([, phases]) =>
    Object.values(phases).every(({ accepted }) => accepted === 0),
  );
  say(`${operations.tested} of ${operations.total} operations were called`);
  for (const [operation] of refused) say(`no valid request was accepted by ${operation}`);
  return operations.tested === operations.total && refused.length === 0;
}

installSchemathesis();
await using receiver = await receiveWebhooks();
await using system = await startSystem();
process.exitCode = await fuzz(system, receiver.url);
