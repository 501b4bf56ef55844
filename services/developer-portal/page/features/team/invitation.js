import { ask } from '../../lib/api.js';
import { html, useEffect, useState } from '../../lib/html.js';
import { navigate } from '../../lib/router.js';
import { useSession } from '../../lib/session.js';
import { useSubmit } from '../../lib/use-submit.js';
import { Form } from '../../ui/form.js';
import { PageHead } from '../../ui/page-head.js';
import { Card, Loaded } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';
import { useSignOut } from '../sessions/use-sign-out.js';

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
