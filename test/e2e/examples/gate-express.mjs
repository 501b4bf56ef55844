// An Express app with a route for holders of every role of a rule set. Needs express and
// @rolecall/client
//   ROLECALL_URL=… ROLECALL_API_KEY=… RULE_SET=holders PORT=3000 node gate-express.mjs
import { Rolecall, requireRole } from '@rolecall/client';
import express from 'express';

const rolecall = new Rolecall({
  baseUrl: process.env.ROLECALL_URL,
  apiKey: process.env.ROLECALL_API_KEY,
  // No visitor waits longer than this.
  timeoutMs: Number(process.env.TIMEOUT_MS ?? 10_000),
});
const app = express();

// Placeholder for your sign-in: the session must hold the wallet that the visitor has proved to
// own.
const walletOf = (request) => request.get('x-demo-wallet');

// Denied is 403. Unreadable is 503 with Retry-After: the visitor may well hold the role.
const holdersOnly = requireRole({
  client: rolecall,
  account: walletOf,
  ruleSet: process.env.RULE_SET ?? 'holders',
});
app.get('/vip', holdersOnly, (_request, response) => {
  response.send('Welcome');
});

const server = app.listen(Number(process.env.PORT ?? 3000), process.env.HOST ?? '127.0.0.1', (error) => {
  if (error) throw error;
  process.stdout.write(`listening on port ${server.address().port}\n`);
});
