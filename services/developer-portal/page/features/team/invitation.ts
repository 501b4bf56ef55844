import { ask, sends } from '../../lib/api.ts';
import { html, useState } from '../../lib/html.ts';
import { useRead } from '../../lib/resources.ts';
import { navigate } from '../../lib/router.ts';
import { useSession, useSignOut } from '../../lib/session.ts';
import { SendForm } from '../../ui/form.ts';
import { Card, loaded, PageHead } from '../../ui/page.ts';
import { toast } from '../../ui/toasts.ts';

/** Shows the app and role of an invitation, and accepts it. Its token is in the fragment, which
 * browsers do not send. */
export function Invitation() {
  const { account } = useSession();
  const signOut = useSignOut();
  const [token] = useState(() => location.hash.slice(1));
  const found = useRead(token, () =>
    ask('POST /api/invitations/read', { body: { token } }).catch((error) => {
      if (error.status === 404 || error.status === 422) return null;
      throw error;
    }),
  );
  const done = ({ clientId }) => {
    toast('You joined the team');
    navigate(`/apps/${encodeURIComponent(clientId)}`, { replace: true });
  };
  return html`
    <${PageHead} title="Invitation"><p class="sub break">You are signed in as ${account.email}.</p><//>
    <${Card}>${loaded(found, (invitation) =>
      invitation === null
        ? html`<p class="prose">This invitation is used, withdrawn, older than seven days, or for another account. Ask for a new one.</p>
          <div class="actions"><button type="button" onClick=${signOut}>Use another account</button></div>`
        : html`<${SendForm} submit="Join the team" send=${sends('POST /api/invitations/accept', {}, () => ({ token }))} onDone=${done}>
            <p class="prose break">You are invited to the app <strong>${invitation.name}</strong> of ${invitation.owner} as <strong>${invitation.role}</strong>.</p>
          <//>`,
    )}<//>
  `;
}
