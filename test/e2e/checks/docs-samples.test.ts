/** @jest-environment ./test/support/jest/shared-system-environment.ts */
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { describeSystem } from '../../../deploy/local/system/describe-system.ts';
import { TOPICS } from '../../../services/gateway/docs/site.ts';
import { receiveWebhooks, type WebhookReceiver } from '../../support/fakes/receive-webhooks.ts';
import { findPython } from '../../support/infrastructure/find-python.ts';
import { validatorOf } from '../../support/judges/documented-answers.ts';
import { type ClientProject, makeClientProject } from '../../support/systems/client-project.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: a reader copies every block of code of every page, as the running gateway serves it, and
// runs it against that gateway.

const ROOT = join(__dirname, '../../..');
const SNIPPETS = join(ROOT, 'services/developer-portal/page/snippets');
/** These run in tests of their own: `test/e2e/examples`. */
const snippets = new Set(
  readdirSync(SNIPPETS).map((name) => readFileSync(join(SNIPPETS, name), 'utf8').trimEnd()),
);
/** Contracts of the reader's that the demo chain lacks: a rule about them is accepted and undecided. */
const MISSING_CONTRACTS = /\b(LOCKER|LIST)\b/;
const RUN_TIMEOUT_MS = 120_000;

type Block = {
  readonly language: string;
  /** What it is if it is no program: `a rule`, `body of POST /path`, or a schema's name. */
  readonly role: string;
  readonly code: string;
};

const system = sharedSystem();
const url = system.ready.gateways[0] ?? '';
const { apiKey, clientId, webhookSecret } = system.ready.app;
const { holder, rpc, erc20 } = system.chain;
const python = findPython('test/e2e/examples/requirements.txt');
const hasCurl = spawnSync('curl', ['--version']).status === 0;
let project: ClientProject;
let receiver: WebhookReceiver;
/** Of the first page: each program begins with the one in its language. */
let opening: Block[];

beforeAll(async () => {
  project = await makeClientProject();
  mkdirSync(join(project.folder, 'bin'));
  const curl = project.write('bin/curl', CURL);
  chmodSync(curl, 0o755);
  receiver = await system.use(receiveWebhooks());
  opening = (await readPage('quickstart')).slice(0, 3);
  await system.admin('app', 'domains', clientId, '--set', 'shop.example');
  for (const page of ['rules', 'watches']) for (const block of await readPage(page)) await run(block);
});
afterAll(async () => {
  for (const id of ['community', 'members'])
    await system.client.send('DELETE', `/access-control/watches/${id}`);
  project?.[Symbol.dispose]();
});

/** The program itself, which also tells the status of its answer. */
const CURL = `#!/bin/bash
PATH=\${PATH#*:}
exec curl -w '%{stderr}status %{http_code}\\n' "$@"
`;

const blocksOf = (text: string): Block[] =>
  [...text.matchAll(/^```(\S*)([^\n]*)\n(.*?)^```$/gms)].map(([, language = '', info = '', code = '']) => ({
    language,
    role: info.replace(/tab=\S+/, '').trim(),
    code,
  }));

/** The blocks of a page as its reader sees them: the page's script fills in address and key. */
async function readPage(slug: string): Promise<Block[]> {
  const page = await (await fetch(`${url}/docs/${slug}.md`)).text();
  return blocksOf(page.replaceAll('YOUR_API_KEY', apiKey).replaceAll('GATEWAY_URL', url));
}

/** Ids that the service gives, by the names that stand for them in a block. */
async function withIds(code: string): Promise<string> {
  const start = async (path: string, more: object) => {
    const rules = [{ type: 'NATIVE', chainId: system.chain.chainId, roleId: 'funded' }];
    const { requestId } = await system.client.mustSend('POST', path, { rules, ...more });
    return requestId ?? '';
  };
  const values: Readonly<Record<string, () => Promise<string>>> = {
    'batch/REQUEST_ID': async () =>
      `batch/${await start('/access-control/check-roles/batch', { entries: [holder] })}`,
    REQUEST_ID: () => start('/access-control/check-roles', { account: holder, async: true }),
    async WEBHOOK_ID() {
      const more = { account: holder, callbackUrl: receiver.url };
      const requestId = await start('/access-control/check-roles', more);
      const { id } = await receiver.waitFor((webhook) => webhook.requestId === requestId);
      await waitUntil('the delivery to end', async () => {
        const path = `/access-control/deliveries/${id}`;
        return (await system.client.send<{ state: string }>('GET', path)).body.state === 'delivered';
      });
      return id;
    },
    CLIENT_ID: async () => clientId,
    NONCE: async () => String(await system.client.nonce()),
    ISSUED_AT: async () => new Date().toISOString(),
    LOCKER: async () => erc20,
    LIST: async () => erc20,
  };
  let filled = code;
  for (const [name, find] of Object.entries(values)) {
    const asWord = new RegExp(`\\b${name}\\b`, 'g');
    if (asWord.test(filled)) filled = filled.replace(asWord, await find());
  }
  return filled;
}

/** The wallet of the body signs its message, as the visitor's page would have it do. */
async function withSignature(body: string): Promise<string> {
  if (!body.includes('SIGNATURE')) return body;
  const { account, signIn } = JSON.parse(body) as { account: string; signIn: [{ message: string }] };
  const message = `0x${Buffer.from(signIn[0].message).toString('hex')}`;
  return body.replace('SIGNATURE', String(await callJsonRpc(rpc, 'personal_sign', [message, account])));
}

type Ran = { readonly stdout: string; readonly stderr: string };

async function runProgram(command: string, args: readonly string[], env = {}): Promise<Ran> {
  const options = {
    cwd: project.folder,
    timeout: RUN_TIMEOUT_MS,
    env: { ...process.env, NODE_OPTIONS: '', WEBHOOK_SECRET: webhookSecret, ...env },
  };
  return promisify(execFile)(command, [...args], options);
}

/** A program behind the first block of the first page in its language, if it uses what that has. */
function programOf({ language, code }: Block, uses: RegExp): string {
  const [first] = opening.filter((block) => block.language === language);
  return first && first.code !== code && uses.test(code) ? `${first.code}\n${code}` : code;
}

const isSuccess = (status: string): boolean => status.startsWith('2');
/** The page says that only a public address by https has it. */
const isHttpsOnly = ({ code }: Block): boolean => code.includes('/.well-known/authzen-configuration');

function expectStatuses(statuses: readonly string[], block: Block): void {
  const shown = [...block.code.matchAll(/^# (\d{3})\b/gm)].map(([, status]) => status);
  if (isHttpsOnly(block)) expect(statuses).toEqual(['404']);
  else if (shown.length > 0) expect(statuses).toEqual(shown);
  else expect([block.code, statuses.filter((status) => !isSuccess(status))]).toEqual([block.code, []]);
}

async function runBash(block: Block): Promise<string | undefined> {
  if (!hasCurl) return undefined;
  const env = { PATH: `${join(project.folder, 'bin')}${delimiter}${process.env['PATH']}` };
  const args = ['-euo', 'pipefail', '-c', programOf(block, /\$ROLECALL_/)];
  const { stdout, stderr } = await runProgram('bash', args, env);
  expectStatuses(statusesIn(stderr, /^status (\d{3})$/gm), block);
  return stdout;
}

async function runTypeScript(block: Block): Promise<void> {
  const program = project.write('sample.ts', programOf(block, /\brolecall\./));
  const { stdout } = await runProgram(process.execPath, ['--disable-warning=ExperimentalWarning', program]);
  if (block.code.includes('response.status')) expectStatuses(statusesIn(stdout, /^(\d{3}) /gm), block);
}

async function runPython(block: Block): Promise<void> {
  if (python === undefined) return;
  const program = project.write('sample.py', programOf(block, /\bsession\./));
  const { stdout } = await runProgram(python, [program]);
  if (block.code.includes('print(response.status_code'))
    expectStatuses(statusesIn(stdout, /^(\d{3}) /gm), block);
}

const statusesIn = (printed: string, pattern: RegExp): string[] =>
  [...printed.matchAll(pattern)].map(([, status = '']) => status);

async function sendBody(block: Block, method: string, path: string): Promise<void> {
  const { status, text } = await system.client.send(method, path, await withSignature(block.code));
  expect([block.code, status < 300 ? 'accepted' : text]).toEqual([block.code, 'accepted']);
}

async function checkRule({ code }: Block, isMissing: boolean): Promise<void> {
  const { status, body } = await system.client.check({ account: holder, rules: [JSON.parse(code)] });
  expect([code, status, body.errors?.length]).toEqual([code, 200, isMissing ? 1 : 0]);
}

/** A problem has the members that the page shows. */
async function expectProblem({ code }: Block): Promise<void> {
  const { body } = await system.client.check({});
  expect(Object.keys(body).sort()).toEqual(Object.keys(JSON.parse(code)).sort());
}

async function expectHeaders({ code }: Block): Promise<void> {
  const answer = await system.client.send('GET', '/access-control/chains');
  const names = [...code.matchAll(/^([\w-]+):/gm)].map(([, name = '']) => name);
  expect(names.filter((name) => !answer.headers.has(name))).toEqual([]);
}

/** A document of a schema that the reference has by this name. */
function expectDocument({ code, role }: Block): void {
  const validator = validatorOf({ $ref: `#/components/schemas/${role}` });
  expect([code, validator.safeParse(JSON.parse(code)).error]).toEqual([code, undefined]);
}

/** Runs, sends or judges a block, by its language and role. */
async function run(shown: Block): Promise<void> {
  const { language, role } = shown;
  if (snippets.has(shown.code.trimEnd()) || role === 'a rule set') return;
  const block = { ...shown, code: await withIds(shown.code) };
  const [, method, path] = /^body of (\w+) (\S+)$/.exec(role) ?? [];
  if (language === 'bash') await runBash(block);
  else if (language === 'ts') await runTypeScript(block);
  else if (language === 'python') await runPython(block);
  else if (role === 'a rule') await checkRule(block, MISSING_CONTRACTS.test(shown.code));
  else if (method !== undefined && path !== undefined) await sendBody(block, method, path);
  else if (role === 'a problem') await expectProblem(block);
  else if (role === 'headers of an answer') await expectHeaders(block);
  else if (/^[A-Z]\w+$/.test(role)) expectDocument(block);
  else throw new Error(`a block does not say what it is: ${language} ${role}\n${shown.code}`);
}

/** The samples of the reference in an order in which each finds what it names: stores first,
 * members of the watch next, deletions last, of watches before rule sets. */
function rankOf({ code, role }: Block): number {
  const method =
    /-X (\w+)|method: '(\w+)'|requests\.(\w+)\(/.exec(code)?.slice(1).find(Boolean) ??
    /^body of (\w+)/.exec(role)?.[1];
  if (method?.toUpperCase() === 'PUT') return 0;
  if (method?.toUpperCase() === 'DELETE') return code.includes('/watches/') ? 4 : 5;
  return /\/members\/members["']/.test(code) ? 1 : 2;
}

const inOrder = (slug: string, blocks: readonly Block[]): readonly Block[] =>
  slug === 'reference' ? blocks.toSorted((one, other) => rankOf(one) - rankOf(other)) : blocks;

test.each(TOPICS.map(({ slug }) => slug))(
  'every block of the page %s runs as it is shown, on the server that shows it',
  async (slug) => {
    const blocks = await readPage(slug);
    for (const block of inOrder(slug, blocks)) await run(block);
  },
);

test('the commands that `npm start` prints are answered', async () => {
  const commands = describeSystem(system.ready).filter((line) => line.startsWith('  curl '));
  expect(commands.length).toBe(4);
  for (const code of commands) await run({ language: 'bash', role: '', code: code.trim() });
});

test('the request of the README is answered as it shows', async () => {
  const blocks = blocksOf(readFileSync(join(ROOT, 'README.md'), 'utf8'));
  const request = blocks.find(({ code }) => code.startsWith('KEY='));
  const shown = JSON.parse(blocks.find(({ language }) => language === 'json')?.code ?? '');
  const code = request?.code
    .replace(/^KEY=.*$/m, `KEY=${apiKey}`)
    .replace('localhost:8080', new URL(url).host);
  const printed = await runBash({ language: 'bash', role: '', code: code ?? '' });
  if (printed === undefined) return;
  const answer = JSON.parse(printed);
  const [chainId] = Object.keys(shown.blocks);
  expect(answer).toMatchObject({ status: shown.status, roles: shown.roles, errors: shown.errors });
  for (const [one, other] of [
    [answer, shown],
    [answer.blocks[chainId ?? ''], shown.blocks[chainId ?? '']],
  ])
    expect(Object.keys(one)).toEqual(Object.keys(other));
});

for (const [name, isThere] of [
  ['curl', hasCurl],
  ['Python with requests', python !== undefined],
] as const)
  if (!isThere) process.stderr.write(`docs: ${name} is not on this machine, its samples are not run\n`);
