// A bot that keeps the roles of a chat in sync with its members' holdings. Needs express and
// @rolecall/client
//   ROLECALL_URL=… ROLECALL_API_KEY=… WEBHOOK_SECRET=whsec_… CHAT_URL=… PUBLIC_URL=… node sync-roles.mjs
// CHAT_URL is the chat's API: GET /members, PUT and DELETE /members/{id}/roles/{role}.
import { Rolecall, verifyWebhook } from '@rolecall/client';
import express from 'express';

const { ROLECALL_URL, ROLECALL_API_KEY, WEBHOOK_SECRET, CHAT_URL, PUBLIC_URL, RULE_SET } = process.env;
const latest = new Map(); // The last applied event of each member; keep it in your database.
let applying = Promise.resolve();

async function apply({ ref, addedAt, sequence, roles }) {
  const last = latest.get(ref); // A message may come twice, or after a newer one.
  if (last && (last.addedAt > addedAt || (last.addedAt === addedAt && last.sequence >= sequence))) return;
  for (const { id, granted } of roles) {
    const method = granted ? 'PUT' : 'DELETE';
    const { ok } = await fetch(`${CHAT_URL}/members/${encodeURIComponent(ref)}/roles/${id}`, { method });
    if (!ok) throw new Error(`the chat refused ${method} of ${id}`); // Answers 500, so that the webhook is retried.
  }
  latest.set(ref, { addedAt, sequence });
}

const app = express();
app.post('/roles', express.text({ type: 'application/json', limit: '1mb' }), async (request, response) => {
  const message = await verifyWebhook(request.headers, request.body, WEBHOOK_SECRET).catch(() => null);
  if (message?.type === 'roles.changed') applying = applying.catch(() => {}).then(() => apply(message));
  await applying; // One event at a time.
  response.sendStatus(message ? 204 : 401);
});

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', async (error) => {
  if (error) throw error;
  process.stdout.write(`listening on port ${server.address().port}\n`);
  if (!PUBLIC_URL) return; // The watch was set up by an earlier run.
  const { watches } = new Rolecall({ baseUrl: ROLECALL_URL, apiKey: ROLECALL_API_KEY });
  await watches.put('chat', { ruleSet: RULE_SET ?? 'holders', callbackUrl: `${PUBLIC_URL}/roles` });
  await watches.addMembers('chat', await (await fetch(`${CHAT_URL}/members`)).json());
});
