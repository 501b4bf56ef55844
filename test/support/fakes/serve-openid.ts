import { createServer } from 'node:http';
// @ts-expect-error It has no types.
import Provider from 'oidc-provider';

// A real OpenID provider on loopback, as a process of its own. Every visitor is signed in as the
// claims that `login_hint` has as JSON, or else PERSON. See openid-provider.ts.

const { PORT, REDIRECT_URIS = '', CLIENT_SECRET, PERSON = '{}' } = process.env;

const provider = new Provider(`http://127.0.0.1:${PORT}`, {
  clients: [{ client_id: 'portal', client_secret: CLIENT_SECRET, redirect_uris: REDIRECT_URIS.split(' ') }],
  claims: { email: ['email', 'email_verified'] },
  pkce: { required: () => true },
  cookies: { keys: ['loopback'] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
  findAccount: (_context: unknown, accountId: string) => ({
    accountId,
    claims: () => JSON.parse(accountId) as object,
  }),
  async loadExistingGrant({
    oidc,
  }: {
    oidc: { client: { clientId: string }; session: { accountId: string } };
  }) {
    const { accountId } = oidc.session;
    const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId });
    grant.addOIDCScope('openid email');
    await grant.save();
    return grant;
  },
});
const serve = provider.callback();
createServer(async (request, response) => {
  if (!request.url?.startsWith('/interaction/')) return serve(request, response);
  const { params } = await provider.interactionDetails(request, response);
  const login = { accountId: params.login_hint ?? PERSON };
  await provider.interactionFinished(request, response, { login });
}).listen(Number(PORT), '127.0.0.1', () => process.stdout.write('listening\n'));
