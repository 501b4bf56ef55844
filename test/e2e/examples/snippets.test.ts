import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSign } from '../../../services/webhook-dispatcher/delivery/read-signers.ts';
import { signMessage } from '../../../services/webhook-dispatcher/domain/sign-message.ts';
import { SHARED_OUTCOMES, SHARED_ROLES } from '../../support/builders/shared-roles.ts';
import { findPython } from '../../support/infrastructure/find-python.ts';

// Scenario: the portal's snippets, unchanged, verify messages signed by the dispatcher's own code,
// and forged ones.

const SNIPPETS = join(__dirname, '../../../services/developer-portal/page/snippets');
const RUN_TIMEOUT_MS = 600_000;

type Message = { readonly body: string; readonly headers: Readonly<Record<string, string>> };

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const SECRET = newSecret();
const OTHER = newSecret();
const BODY = JSON.stringify({
  requestId: 'req_1',
  status: 'completed',
  roles: [{ id: 'gold', granted: true }],
});

function sign(secrets: readonly string[], atMs = Date.now()): Message {
  const signers = secrets.map((secret) => ({ sign: makeSign(secret), expiresAtMs: undefined }));
  const signed = signMessage({ requestId: 'req_1', body: BODY, atMs, signers });
  const headers = Object.entries(signed).map(([name, value]) => [name.toLowerCase(), value]);
  return { body: BODY, headers: Object.fromEntries(headers) };
}

/** Each message, and whether a snippet must accept it. */
function messages(): readonly (readonly [string, Message, boolean])[] {
  const good = sign([SECRET]);
  return [
    ['signed', good, true],
    ['signed during a rotation, the newer secret first', sign([OTHER, SECRET]), true],
    ['changed', { ...good, body: BODY.replace('true', 'false') }, false],
    ['signed with another secret', sign([OTHER]), false],
    ['old', sign([SECRET], Date.now() - 600_000), false],
    ['from the future', sign([SECRET], Date.now() + 600_000), false],
    ['without a signature', { body: BODY, headers: {} }, false],
  ];
}

type RunOptions = { readonly cwd?: string };

/** Runs a program that reads JSON from stdin, and returns the JSON that it prints. */
function run(command: string, args: readonly string[], input: unknown, options: RunOptions = {}): unknown {
  const { status, stdout, stderr } = spawnSync(command, args, {
    input: JSON.stringify(input),
    encoding: 'utf8',
    timeout: RUN_TIMEOUT_MS,
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      GOTOOLCHAIN: 'local',
      GO111MODULE: 'on',
      WEBHOOK_SECRET: SECRET,
    },
    ...options,
  });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Runs a program that reads messages and prints which of them it accepts. */
function expectToJudge(command: string, args: readonly string[], options?: RunOptions): void {
  const cases = messages();
  const input = cases.map(([, message]) => message);
  const accepted = run(command, args, input, options) as boolean[];
  expect(cases.map(([name], place) => [name, accepted[place]])).toEqual(
    cases.map(([name, , isGood]) => [name, isGood]),
  );
}

/** Runs a program that reads a result and prints each role with whether it is held. */
function expectToFold(command: string, args: readonly string[], options?: RunOptions): void {
  const folded = run(command, args, SHARED_ROLES, options) as [string, boolean | null][];
  expect(folded.sort()).toEqual([...SHARED_OUTCOMES].sort());
}

test('the snippet for Node accepts signed messages and no others', () => {
  const program = `
    import { readFileSync } from 'node:fs';
    import { verify } from ${JSON.stringify(join(SNIPPETS, 'verify.mjs'))};
    const accepts = ({ body, headers }) => { try { return verify(body, headers).requestId === 'req_1'; } catch { return false; } };
    console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(accepts)));`;
  expectToJudge(process.execPath, ['--input-type=module', '-e', program]);
});

test('the snippet for Node folds several rules of one role', () => {
  const program = `
    import { readFileSync } from 'node:fs';
    import { foldRoles } from ${JSON.stringify(join(SNIPPETS, 'fold-roles.mjs'))};
    const folded = foldRoles(JSON.parse(readFileSync(0, 'utf8')));
    console.log(JSON.stringify([...folded].map(([role, isHeld]) => [role, isHeld ?? null])));`;
  expectToFold(process.execPath, ['--input-type=module', '-e', program]);
});

const python = findPython('test/e2e/examples/requirements.txt');
const testWithPython = python === undefined ? test.skip : test;
testWithPython('the snippet for Python accepts signed messages and no others', () => {
  const program = `
import json, sys
sys.path.insert(0, ${JSON.stringify(SNIPPETS)})
sys.dont_write_bytecode = True
from verify import verify
def accepts(message):
    try:
        return verify(message["body"].encode(), message["headers"])["requestId"] == "req_1"
    except Exception:
        return False
print(json.dumps([accepts(message) for message in json.load(sys.stdin)]))`;
  expectToJudge(python ?? '', ['-c', program]);
});

testWithPython('the snippet for Python folds several rules of one role', () => {
  const program = `
import json, sys
sys.path.insert(0, ${JSON.stringify(SNIPPETS)})
sys.dont_write_bytecode = True
from fold_roles import fold_roles
print(json.dumps(list(fold_roles(json.load(sys.stdin)).items())))`;
  expectToFold(python ?? '', ['-c', program]);
});

const GO_FOLD_PROGRAM = `package main

import (
	"encoding/json"
	"os"

	"example/webhook"
)

func main() {
	var result webhook.Result
	if err := json.NewDecoder(os.Stdin).Decode(&result); err != nil {
		panic(err)
	}
	isHeld := map[webhook.Outcome]any{webhook.Held: true, webhook.NotHeld: false, webhook.Unknown: nil}
	folded := [][2]any{}
	for role, outcome := range webhook.FoldRoles(result) {
		folded = append(folded, [2]any{role, isHeld[outcome]})
	}
	json.NewEncoder(os.Stdout).Encode(folded)
}
`;

const GO_PROGRAM = `package main

import (
	"encoding/json"
	"os"

	"example/webhook"
)

func main() {
	var messages []struct {
		Body    string
		Headers map[string]string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&messages); err != nil {
		panic(err)
	}
	accepted := []bool{}
	for _, message := range messages {
		header := func(name string) string { return message.Headers[name] }
		err := webhook.Verify(os.Getenv("WEBHOOK_SECRET"), []byte(message.Body), header)
		accepted = append(accepted, err == nil)
	}
	json.NewEncoder(os.Stdout).Encode(accepted)
}
`;

const hasGo = spawnSync('go', ['version']).status === 0;
const testWithGo = hasGo ? test : test.skip;
/** Makes a Go module of the snippets and a program that uses them, and runs it. */
function withGoModule(program: string, use: (cwd: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'rolecall-go-'));
  try {
    mkdirSync(join(folder, 'webhook'));
    for (const name of ['verify.go', 'fold_roles.go'])
      cpSync(join(SNIPPETS, name), join(folder, 'webhook', name));
    writeFileSync(join(folder, 'go.mod'), 'module example\n\ngo 1.21\n');
    writeFileSync(join(folder, 'main.go'), program);
    use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

testWithGo('the snippet for Go accepts signed messages and no others', () =>
  withGoModule(GO_PROGRAM, (cwd) => expectToJudge('go', ['run', '.'], { cwd })),
);

testWithGo('the snippet for Go folds several rules of one role', () =>
  withGoModule(GO_FOLD_PROGRAM, (cwd) => expectToFold('go', ['run', '.'], { cwd })),
);

for (const [name, isThere] of [
  ['Python with standardwebhooks', python !== undefined],
  ['Go', hasGo],
] as const)
  if (!isThere) process.stderr.write(`snippets: ${name} is not on this machine, its snippet is not run\n`);
