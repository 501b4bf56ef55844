import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSign } from '../../../services/webhook-dispatcher/delivery/make-sign.ts';
import { signMessage } from '../../../services/webhook-dispatcher/domain/sign-message.ts';
import { findPython } from '../../support/find-python.ts';

// Scenario: the snippets that the portal shows, as they stand, judge messages that the dispatcher's own code has
// signed, and forged ones.

const SNIPPETS = join(__dirname, '../../../services/developer-portal/page/snippets');
const RUN_TIMEOUT_MS = 100_000;

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

/** Each message, and whether it is to be accepted. */
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

/** Runs a program that reads messages from its input and prints which of them it accepts. */
function expectToJudge(command: string, args: readonly string[], options: { cwd?: string } = {}): void {
  const cases = messages();
  const { status, stdout, stderr } = spawnSync(command, args, {
    input: JSON.stringify(cases.map(([, message]) => message)),
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
  const accepted = JSON.parse(stdout) as boolean[];
  expect(cases.map(([name], place) => [name, accepted[place]])).toEqual(
    cases.map(([name, , isGood]) => [name, isGood]),
  );
}

test('the snippet for Node accepts what is signed, and nothing else', () => {
  const program = `
    import { readFileSync } from 'node:fs';
    import { verify } from ${JSON.stringify(join(SNIPPETS, 'verify.mjs'))};
    const accepts = ({ body, headers }) => { try { return verify(body, headers).requestId === 'req_1'; } catch { return false; } };
    console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(accepts)));`;
  expectToJudge(process.execPath, ['--input-type=module', '-e', program]);
});

const python = findPython('test/e2e/examples/requirements.txt');
const testWithPython = python === undefined ? test.skip : test;
testWithPython('the snippet for Python accepts what is signed, and nothing else', () => {
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
testWithGo('the snippet for Go accepts what is signed, and nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rolecall-go-'));
  try {
    mkdirSync(join(folder, 'webhook'));
    cpSync(join(SNIPPETS, 'verify.go'), join(folder, 'webhook', 'verify.go'));
    writeFileSync(join(folder, 'go.mod'), 'module example\n\ngo 1.21\n');
    writeFileSync(join(folder, 'main.go'), GO_PROGRAM);
    expectToJudge('go', ['run', '.'], { cwd: folder });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

for (const [name, isThere] of [
  ['Python with standardwebhooks', python !== undefined],
  ['Go', hasGo],
] as const)
  if (!isThere) process.stderr.write(`snippets: ${name} is not on this machine, its snippet is not run\n`);
