// A receiver of Rolecall's webhooks in Node: npm install standardwebhooks
//   WEBHOOK_SECRET=whsec_… PORT=3000 node receive-webhooks.mjs
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
// Handled ids. A delivery may come twice; keep the ids for two days, in your database.
const handled = new Set();
const BODY_BYTES_MAX = 4 * 1024 * 1024;

/**
 * The outcome of each role: true, false, or undefined if it could not be read. Several rules may
 * name one role: the role is held if any of them is granted, unknown if none is and any could not
 * be read, and otherwise not held. For a check with onUndetermined "deny", pass its roles and no
 * errors: there an unread rule is a denial.
 */
function foldRoles({ roles, errors }) {
  // A fault of a sign-in has no role.
  const held = new Map(errors.flatMap(({ roleId }) => (roleId ? [[roleId, undefined]] : [])));
  for (const { id, granted } of roles) if (granted || !held.has(id)) held.set(id, granted);
  return held;
}

async function receive(request, response) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return response.writeHead(413).end();
    chunks.push(chunk);
  }
  // The signature covers the bytes as they arrived: verify first, parse afterwards.
  const body = Buffer.concat(chunks).toString('utf8');
  let result;
  try {
    result = webhook.verify(body, request.headers);
  } catch {
    return response.writeHead(401).end();
  }
  // Answer at once and work later: after 15 s an attempt counts as failed.
  response.writeHead(204).end();
  const id = request.headers['webhook-id'];
  if (handled.has(id)) return;
  handled.add(id);
  // The result of a check has no type; others, such as batch.completed, have.
  if (result.type !== undefined) return;
  for (const [role, isHeld] of foldRoles(result)) {
    // A role that could not be read stays as it is: no chain has said that it is not held.
    if (isHeld === undefined) continue;
    process.stdout.write(`${result.requestId}: ${isHeld ? 'grant' : 'revoke'} ${role}\n`);
  }
}

const server = createServer((request, response) => {
  // A sender that breaks off in the middle must not end the process.
  receive(request, response).catch((error) => {
    process.stderr.write(`${error}\n`);
    request.destroy();
  });
});

server.listen(Number(process.env.PORT ?? 3000), process.env.HOST ?? '127.0.0.1', () => {
  process.stdout.write(`listening on port ${server.address().port}\n`);
});
