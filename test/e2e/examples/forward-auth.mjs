// Lets the holders of a role through, for `auth_request` of nginx (forward-auth.nginx.conf), Caddy
// (forward-auth.Caddyfile) and Traefik. Needs express and @rolecall/client
//   ROLECALL_URL=… ROLECALL_API_KEY=… ROLECALL_CLIENT_ID=app_… RULE_SET=holders ROLE=gold CHAIN_ID=1 \
//   ORIGIN=https://club.example PORT=3001 node forward-auth.mjs
import { foldRoles, parseSignInMessage, Rolecall, signInMessage, verifyProof } from '@rolecall/client';
import express from 'express';

const { ROLECALL_URL, RULE_SET = 'holders', ROLE = 'gold', CHAIN_ID = '1' } = process.env;
const { href: uri, host: domain, protocol } = new URL(process.env.ORIGIN);
const rolecall = new Rolecall({ baseUrl: ROLECALL_URL, apiKey: process.env.ROLECALL_API_KEY });
const trusted = { jwks: `${ROLECALL_URL}/.well-known/jwks.json`, audience: process.env.ROLECALL_CLIENT_ID };
const SESSION_SECONDS = 3_600;
let { digest: rulesDigest } = await rolecall.ruleSets.get(RULE_SET);
const send = (response, status) =>
  response.set(status === 503 ? { 'retry-after': '2' } : {}).sendStatus(status);
const statusOf = (outcome) => ({ granted: 204, denied: 403 })[outcome] ?? 503;

/** 401 without a session, 403 without the role, 503 where that is not known: never one for another. */
async function judge(cookie = '') {
  const [, proof] = /(?:^|; )proof=([^;]+)/.exec(cookie) ?? [];
  if (!proof) return 401;
  const claims = await verifyProof(proof, { ...trusted, rulesDigest }).catch((error) => error);
  if (claims instanceof Error) return claims.code.startsWith('proof-') ? 401 : 503;
  // Every account: of a verdict about several, the others may hold the role.
  if (claims.domain !== domain || claims.signedIn?.length !== claims.accounts.length) return 401;
  return statusOf(['granted', 'undetermined', 'denied'].find((outcome) => claims[outcome].includes(ROLE)));
}

const app = express();
app.get('/auth', async (request, response) => send(response, await judge(request.get('cookie'))));
app.get('/sign-in', (_request, response) => response.sendFile('sign-in.html', { root: import.meta.dirname }));
app.use('/sign-in', express.json({ limit: '16kb' }));
app.post('/sign-in/message', async ({ body }, response) => {
  const fields = { domain, uri, address: String(body?.account), chainId: Number(CHAIN_ID) };
  response.json({ message: signInMessage({ ...fields, ...(await rolecall.nonce()) }) });
});
app.post('/sign-in', async ({ body: { account, message, signature } = {} }, response) => {
  // On another chain the address may be the contract of somebody else.
  if (parseSignInMessage(message).chainId !== Number(CHAIN_ID)) return send(response, 401);
  const proof = { proof: true, proofAlg: 'ES256', proofSeconds: SESSION_SECONDS };
  const signIn = [{ message, signature }];
  const result = await rolecall.check({ account, ruleSet: RULE_SET, signIn, ...proof });
  const status = statusOf(result.proof && foldRoles(result).get(ROLE));
  if (status !== 204) return send(response, status);
  rulesDigest = result.ruleSet.digest;
  const options = { httpOnly: true, sameSite: 'lax', secure: protocol === 'https:' };
  response.cookie('proof', result.proof, { ...options, maxAge: SESSION_SECONDS * 1_000 });
  return send(response, 204);
});
const REFUSED = /^(sign-in-|config-invalid|validation-failed)/;
app.use((error, _request, response, _next) => {
  // A visitor sees no reason. It may be yours to fix: a domain that the app lacks, a revoked key.
  process.stderr.write(`${error.message}\n`);
  send(response, REFUSED.test(error.code) ? 401 : 503);
});
const server = app.listen(Number(process.env.PORT ?? 3001), process.env.HOST ?? '127.0.0.1', (error) => {
  if (error) throw error;
  process.stdout.write(`listening on port ${server.address().port}\n`);
});
