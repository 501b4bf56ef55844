import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { spawnNode } from '../systems/spawn-process.ts';
import { waitUntil } from '../wait-until.ts';

/** The claims of a person. */
export type Person = { readonly sub: string; readonly email?: string; readonly email_verified?: boolean };

const CLIENT_SECRET = 'a secret of the portal';

/**
 * The settings of two portals with an identity provider, and the provider once it is started.
 *
 * @example
 * const openid = await prepareOpenId();
 * await using provider = await openid.start();
 * await using portal = await startPortal(config, openid.environments[0]);
 */
export async function prepareOpenId() {
  const [port = 0, first = 0, second = 0] = await findFreePorts(3);
  const environmentOf = (portalPort: number) => ({
    HTTP_PORT: String(portalPort),
    PORTAL_ORIGIN: `http://127.0.0.1:${portalPort}`,
    OIDC_ISSUER: `http://127.0.0.1:${port}`,
    OIDC_CLIENT_ID: 'portal',
    OIDC_CLIENT_SECRET: CLIENT_SECRET,
  });
  const environments = [environmentOf(first), environmentOf(second)] as const;
  return {
    environments,
    /** @param person who comes with a browser */
    async start(person?: Person) {
      const provider = spawnNode(['test/support/fakes/serve-openid.ts'], {
        PORT: String(port),
        REDIRECT_URIS: environments.map((each) => `${each.PORTAL_ORIGIN}/single-sign-on`).join(' '),
        CLIENT_SECRET,
        ...(person && { PERSON: JSON.stringify(person) }),
      });
      await waitUntil('the provider to listen', () => {
        if (provider.child.exitCode !== null) throw new Error(`the provider ended: ${provider.stderr()}`);
        return provider.stdout().includes('listening');
      });
      return provider;
    },
    /** Goes to the provider's page as a person, and returns the query with which it sends the browser
     * back. */
    async visit(url: string, person: Person): Promise<string> {
      const cookies = new Map<string, string>();
      let next = `${url}&login_hint=${encodeURIComponent(JSON.stringify(person))}`;
      while (!next.includes('/single-sign-on?')) {
        const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
        const response = await fetch(next, { redirect: 'manual', headers: { cookie } });
        for (const set of response.headers.getSetCookie()) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
          cookies.set(name, value);
        }
        const location = response.headers.get('location');
        if (location === null) throw new Error(`${response.status} ${await response.text()}`);
        next = new URL(location, next).href;
      }
      return new URL(next).search.slice(1);
    },
  };
}
