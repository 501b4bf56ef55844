// An Express app that visitors enter with their wallet. Needs express and @rolecall/client
//   ROLECALL_URL=… ROLECALL_API_KEY=… RULE_SET=holders ROLE=gold CHAIN_ID=1 \
//   ORIGIN=http://127.0.0.1:3000 PORT=3000 node sign-in-express.mjs
// The host of ORIGIN must be a domain of the client app.
import { randomUUID } from 'node:crypto';
import { foldRoles, parseSignInMessage, Rolecall, RolecallError, signInMessage } from '@rolecall/client';
import express from 'express';

const { RULE_SET = 'holders', ROLE = 'gold', HOST = '127.0.0.1', CHAIN_ID = '1' } = process.env;
const origin = new URL(process.env.ORIGIN);
const rolecall = new Rolecall({ baseUrl: process.env.ROLECALL_URL, apiKey: process.env.ROLECALL_API_KEY });
const app = express();

// Who has signed in, by the cookie's value. Yours is kept where all of your servers find it.
const sessions = new Map();
const SESSION_MS = 3_600_000;

app.get('/sign-in', (_request, response) => {
  response.sendFile('sign-in.html', { root: import.meta.dirname });
});

// JSON alone: a form of another site cannot send it.
app.use('/sign-in', express.json({ limit: '16kb' }));

app.post('/sign-in/message', async (request, response) => {
  const { nonce } = await rolecall.nonce();
  const message = signInMessage({
    domain: origin.host,
    address: String(request.body?.account),
    uri: origin.href,
    chainId: Number(CHAIN_ID),
    nonce,
    statement: 'Enter the club.',
  });
  response.json({ message });
});

app.post('/sign-in', async (request, response) => {
  const { account, message, signature } = request.body ?? {};
  // On another chain the address may be the contract of somebody else.
  if (parseSignInMessage(message).chainId !== Number(CHAIN_ID)) return response.sendStatus(401);
  const result = await rolecall.check({ account, ruleSet: RULE_SET, signIn: [{ message, signature }] });
  const outcome = foldRoles(result).get(ROLE) ?? 'undetermined';
  // Not known is not a "no": the visitor may well hold the role.
  if (outcome === 'undetermined') return response.set('retry-after', '2').sendStatus(503);
  if (outcome === 'denied') return response.sendStatus(403);
  const id = randomUUID();
  sessions.set(id, { account, endsAt: Date.now() + SESSION_MS });
  const secure = origin.protocol === 'https:';
  response.cookie('session', id, { httpOnly: true, sameSite: 'lax', secure, maxAge: SESSION_MS });
  return response.sendStatus(204);
});

app.get('/', (request, response) => {
  const [, id] = /(?:^|; )session=([^;]+)/.exec(request.get('cookie') ?? '') ?? [];
  const session = sessions.get(id);
  if (!session || session.endsAt < Date.now()) return response.redirect('/sign-in');
  return response.type('text').send(`Welcome, ${session.account}`);
});

// What the visitor sent is wrong, or Rolecall could not be asked.
const REFUSED = new Set(['sign-in-refused', 'sign-in-malformed', 'validation-failed', 'config-invalid']);
app.use((error, _request, response, next) => {
  if (!(error instanceof RolecallError)) return next(error);
  // A visitor sees no reason. It may be yours to fix: a domain that the app lacks, a revoked key.
  process.stderr.write(`${error.message}\n`);
  return REFUSED.has(error.code)
    ? response.sendStatus(401)
    : response.set('retry-after', '2').sendStatus(503);
});

const server = app.listen(Number(process.env.PORT ?? 3000), HOST, (error) => {
  if (error) throw error;
  process.stdout.write(`listening on port ${server.address().port}\n`);
});
