import { randomBytes, randomUUID } from 'node:crypto';
import { makeSign } from '../../../services/webhook-dispatcher/delivery/read-signers.ts';
import { signMessage } from '../../../services/webhook-dispatcher/domain/sign-message.ts';
import { SHARED_OUTCOMES, SHARED_ROLES } from '../../support/builders/shared-roles.ts';
import { findPython } from '../../support/infrastructure/find-python.ts';
import { type SpawnedProcess, spawnProgram } from '../../support/systems/spawn-process.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: the documentation's example receivers, unchanged, get webhooks signed by the
// dispatcher's own code, and forged ones.

const SECRET = `whsec_${randomBytes(32).toString('base64')}`;
const FOLDER = 'test/e2e/examples';
const python = findPython(`${FOLDER}/requirements.txt`);
const env = { WEBHOOK_SECRET: SECRET, PORT: '0', HOST: '127.0.0.1' };

const portOf = (receiver: SpawnedProcess) =>
  waitUntil('the receiver to listen', () => {
    if (receiver.child.exitCode !== null) throw new Error(`the receiver ended: ${receiver.stderr()}`);
    return /listening on port (\d+)/.exec(receiver.stdout())?.[1];
  });

async function post(port: string, body: string, headers: Record<string, string>): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST', headers, body });
  return response.status;
}

async function expectToReceive(command: string, file: string): Promise<void> {
  await using receiver = spawnProgram(command, [`${FOLDER}/${file}`], env);
  const port = await portOf(receiver);
  const requestId = randomUUID();
  const body = JSON.stringify({ requestId, status: 'completed', ...SHARED_ROLES });
  const sign = (secret: string, atMs: number) =>
    signMessage({
      requestId,
      body,
      atMs,
      signers: [{ sign: makeSign(secret), expiresAtMs: undefined }],
    });

  const headers = sign(SECRET, Date.now());
  expect(await post(port, body.replace('false', 'true'), headers)).toBe(401);
  expect(await post(port, body, sign(`whsec_${randomBytes(32).toString('base64')}`, Date.now()))).toBe(401);
  expect(await post(port, body, sign(SECRET, Date.now() - 600_000))).toBe(401);
  expect(await post(port, body, {})).toBe(401);
  expect(receiver.stdout()).not.toContain(requestId);

  expect(await post(port, body, headers)).toBe(204);
  expect(await post(port, body, sign(SECRET, Date.now()))).toBe(204);
  await waitUntil('the roles', () => receiver.stdout().includes('revoke silver'));
  const lines = receiver.stdout().trim().split('\n').slice(1);
  const expected = SHARED_OUTCOMES.flatMap(([role, isHeld]) =>
    isHeld === null ? [] : [`${requestId}: ${isHeld ? 'grant' : 'revoke'} ${role}`],
  );
  expect(lines.sort()).toEqual(expected.sort());
}

test('the Node receiver takes a signed message once, folds the rules of a role, and refuses forged and old messages', () =>
  expectToReceive(process.execPath, 'receive-webhooks.mjs'));

const testWithPython = python === undefined ? test.skip : test;
testWithPython(
  'the Python receiver takes a signed message once, folds the rules of a role, and refuses forged and old messages',
  () => expectToReceive(python ?? '', 'receive_webhooks.py'),
);
