import { spawn, spawnSync } from 'node:child_process';
import { createHmac, createPublicKey } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { PROOF_ALGS, type ProofAlg } from '#shared/contracts/checks/proof-claims.ts';
import { jwksOf, parsePublicRing, publicRingOf } from '#shared/proof-keys.ts';
import { parseKeyRing } from '#shared/secret-box.ts';
import { makeProve } from '../../../services/evaluator/lanes/sign-proof.ts';
import { serveOnLoopback } from '../../support/fakes/serve-on-loopback.ts';
import { findPython } from '../../support/infrastructure/find-python.ts';

// Scenario: the portal's snippets, unchanged, verify proofs signed by the evaluator's own code, and
// others, with the key set document that the gateway serves.

const SNIPPETS = join(__dirname, '../../../services/developer-portal/page/snippets');
const CLIENT_ID = 'app_1';
const ringOf = (number: number): string => `${number}:${Buffer.alloc(32, number).toString('base64')}`;
const JWKS = JSON.stringify(jwksOf(parsePublicRing(publicRingOf(`${ringOf(2)},${ringOf(3)}`))));

type Changes = { readonly clientId?: string; readonly atMs?: number };

function prove(
  alg: ProofAlg,
  number: number,
  { clientId = CLIENT_ID, atMs = Date.now() }: Changes = {},
): string {
  const sign = makeProve({
    publicBaseUrl: 'https://api.example',
    keys: parseKeyRing(ringOf(number)),
    noteMissingKey: () => undefined,
  });
  const request = {
    clientId,
    account: `0x${'ab'.repeat(20)}`,
    onUndetermined: 'omit',
    consistency: {},
    proof: { seconds: 300, alg, rulesDigest: 'sha-256=:x:' },
  } as const;
  const evaluatedAt = new Date(atMs).toISOString();
  const roles = [{ id: 'gold', granted: true }];
  return sign(request, { status: 'completed', roles, errors: [], evaluatedAt, blocks: {} }, 'req_1') ?? '';
}

function tamper(proof: string): string {
  const [header = '', payload = '', signature = ''] = proof.split('.');
  const changed = Buffer.from(payload, 'base64url').toString().replace('gold', 'platinum');
  return `${header}.${Buffer.from(changed).toString('base64url')}.${signature}`;
}

/** The same claims with another header, and a signature that is none. */
function relabel(proof: string, changes: object, signature = ''): string {
  const [header = '', payload = ''] = proof.split('.');
  const changed = { ...JSON.parse(Buffer.from(header, 'base64url').toString()), ...changes };
  return `${Buffer.from(JSON.stringify(changed)).toString('base64url')}.${payload}.${signature}`;
}

/** Each proof, and whether a snippet must accept it. */
const cases = (): readonly (readonly [string, string, boolean])[] => [
  ...PROOF_ALGS.flatMap((alg): [string, string, boolean][] => {
    const other = alg === 'EdDSA' ? 'ES256' : 'EdDSA';
    return [
      [`${alg}, of the current key`, prove(alg, 3), true],
      [`${alg}, of the previous key`, prove(alg, 2), true],
      [`${alg}, altered`, tamper(prove(alg, 3)), false],
      [`${alg}, expired`, prove(alg, 3, { atMs: Date.now() - 400_000 }), false],
      [`${alg}, for another app`, prove(alg, 3, { clientId: 'app_2' }), false],
      [`${alg}, of a retired key`, prove(alg, 1), false],
      [`${alg}, unsigned`, relabel(prove(alg, 3), { alg: 'none' }), false],
      [`${alg}, relabelled`, relabel(prove(alg, 3), { alg: other }, prove(alg, 3).split('.')[2]), false],
      [
        `${alg}, by HMAC with the public key`,
        hmacByPublicKey(relabel(prove(alg, 3), { alg: 'HS256' }), alg),
        false,
      ],
    ];
  }),
  ['that is not a proof', 'a.b.c', false],
];

/** What a verifier that lets the header choose would accept: the public key as HMAC's secret. */
function hmacByPublicKey(unsigned: string, alg: ProofAlg): string {
  const { keys } = jwksOf(parsePublicRing(publicRingOf(ringOf(3))));
  const jwk = keys.find((key) => key.alg === alg);
  const pem = createPublicKey({ key: { ...jwk }, format: 'jwk' }).export({ format: 'pem', type: 'spki' });
  const input = unsigned.slice(0, -1);
  return `${input}.${createHmac('sha256', pem).update(input).digest('base64url')}`;
}

/** Runs a program that reads proofs and prints which of them grant `gold`. */
async function expectToJudge(command: string, args: readonly string[], cwd?: string): Promise<void> {
  await using server = await serveOnLoopback((_request, response) => response.end(JWKS));
  const env = {
    ...process.env,
    NODE_OPTIONS: '',
    ROLECALL_JWKS_URL: `${server.url}/`,
    ROLECALL_CLIENT_ID: CLIENT_ID,
    ROLECALL_JWKS: JWKS,
  };
  const child = spawn(command, args, { env, ...(cwd === undefined ? {} : { cwd }) });
  const [output, errors] = [text(child.stdout), text(child.stderr)];
  const judged = cases();
  child.stdin.end(JSON.stringify(judged.map(([, proof]) => proof)));
  const exitCode = await new Promise((resolve) => child.once('close', resolve));
  if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}: ${await errors}`);
  const accepted = JSON.parse(await output) as boolean[];
  expect(judged.map(([name], place) => [name, accepted[place]])).toEqual(
    judged.map(([name, , isGood]) => [name, isGood]),
  );
}

test('the snippet for Node accepts the proofs of the keys in the document, and no others', () => {
  const program = `
    import { readFileSync } from 'node:fs';
    import { verifyProof } from ${JSON.stringify(join(SNIPPETS, 'verify-proof.mjs'))};
    const accepts = async (proof) => { try { return (await verifyProof(proof)).granted[0] === 'gold'; } catch { return false; } };
    console.log(JSON.stringify(await Promise.all(JSON.parse(readFileSync(0, 'utf8')).map(accepts))));`;
  return expectToJudge(process.execPath, ['--input-type=module', '-e', program]);
});

const python = findPython('test/e2e/examples/requirements.txt');
const testWithPython = python === undefined ? test.skip : test;
testWithPython('the snippet for Python accepts the proofs of the keys in the document, and no others', () => {
  const program = `
import json, sys
sys.path.insert(0, ${JSON.stringify(SNIPPETS)})
sys.dont_write_bytecode = True
from verify_proof import verify_proof
def accepts(proof):
    try:
        return verify_proof(proof)["granted"] == ["gold"]
    except Exception:
        return False
print(json.dumps([accepts(proof) for proof in json.load(sys.stdin)]))`;
  return expectToJudge(python ?? '', ['-c', program]);
});

const GO_PROGRAM = `package main

import (
	"encoding/json"
	"os"

	"example/proof"

	"github.com/go-jose/go-jose/v4"
)

func main() {
	var proofs []string
	var keys jose.JSONWebKeySet
	if err := json.NewDecoder(os.Stdin).Decode(&proofs); err != nil {
		panic(err)
	}
	if err := json.Unmarshal([]byte(os.Getenv("ROLECALL_JWKS")), &keys); err != nil {
		panic(err)
	}
	accepted := []bool{}
	for _, text := range proofs {
		claims, err := proof.Verify(text, keys, os.Getenv("ROLECALL_CLIENT_ID"))
		accepted = append(accepted, err == nil && claims.Granted[0] == "gold")
	}
	json.NewEncoder(os.Stdout).Encode(accepted)
}
`;
const GO_JOSE = 'github.com/go-jose/go-jose/v4@v4.0.5';
const GO_TIMEOUT_MS = 120_000;

/** A Go module of the snippet and a program that uses it; `undefined` where Go or its module is not
 * available. */
function makeGoModule(folder: string): boolean {
  mkdirSync(join(folder, 'proof'));
  cpSync(join(SNIPPETS, 'verify_proof.go'), join(folder, 'proof', 'verify_proof.go'));
  writeFileSync(join(folder, 'go.mod'), 'module example\n\ngo 1.21\n');
  writeFileSync(join(folder, 'main.go'), GO_PROGRAM);
  const env = { ...process.env, GOTOOLCHAIN: 'local', GO111MODULE: 'on' };
  const go = (...args: string[]) =>
    spawnSync('go', args, { cwd: folder, env, timeout: GO_TIMEOUT_MS }).status === 0;
  return go('get', GO_JOSE) && go('build', '-o', 'judge', '.');
}

const goFolder = mkdtempSync(join(tmpdir(), 'rolecall-go-'));
const hasGo = makeGoModule(goFolder);
afterAll(() => rmSync(goFolder, { recursive: true, force: true }));
(hasGo ? test : test.skip)(
  'the snippet for Go accepts the proofs of the keys in the document, and no others',
  () => expectToJudge(join(goFolder, 'judge'), [], goFolder),
);

for (const [name, isThere] of [
  ['Python with PyJWT', python !== undefined],
  ['Go with go-jose', hasGo],
] as const)
  if (!isThere) process.stderr.write(`proofs: ${name} is not on this machine, its snippet is not run\n`);
