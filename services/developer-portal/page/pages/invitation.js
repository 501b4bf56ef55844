import { ask } from '../core/api.js';
import { html, useEffect, useState } from '../core/html.js';
import { navigate } from '../core/router.js';
import { useSession } from '../core/session.js';
import { useSignOut } from '../core/use-sign-out.js';
import { useSubmit } from '../core/use-submit.js';
import { Form } from '../parts/form.js';
import { PageHead } from '../parts/page-head.js';
import { Card, Loaded } from '../parts/states.js';
import { toast } from '../parts/toasts.js';

/** Shows the app and role of an invitation, and accepts it. Its token is in the fragment, which browsers do not send. */
export function Invitation() {
  const { account } = useSession();
  const signOut = useSignOut();
  const [token] = useState(() => location.hash.slice(1));
  const [round, setRound] = useState(0);
  const [found, setFound] = useState({});
  useEffect(() => {
    ask('POST', '/api/invitations/read', { body: { token } }).then(
      (value) => setFound({ value }),
      (error) => setFound(error.status === 404 || error.status === 422 ? { value: {} } : { error }),
    );
  }, [round]);
  const form = useSubmit(
    () => ask('POST', '/api/invitations/accept', { body: { token } }),
    ({ clientId }) => {
      toast('You joined the team');
      navigate(`/apps/${encodeURIComponent(clientId)}`, { replace: true });
    },
  );
  return html`
    <${PageHead} title="Invitation"><p class="sub break">You are signed in as ${account.email}.</p><//>
    <${Card}><${Loaded} resource=${{ ...found, reload: () => setRound(round + 1) }}>${({
      name,
      owner,
      role,
    }) =>
      name === undefined
        ? html`<p class="prose">This invitation is used, withdrawn, older than seven days, or for another account. Ask for a new one.</p>
          <div class="actions"><button type="button" onClick=${signOut}>Use another account</button></div>`
        : html`<${Form} form=${form} submit="Join the team">
            <p class="prose break">You are invited to the app <strong>${name}</strong> of ${owner} as <strong>${role}</strong>.</p>
          <//>`}<//><//>
  `;
}
