import { type Answer, type App, sends } from '../../lib/api.ts';
import { html, useEffect } from '../../lib/html.ts';
import { useResource } from '../../lib/resources.ts';
import { keptKeys, useApp, useSession } from '../../lib/session.ts';
import { Code } from '../../ui/copy.ts';
import { SendButton } from '../../ui/form.ts';
import { Card, loaded, PageHead } from '../../ui/page.ts';
import { Badge } from '../../ui/values.ts';

/** An example wallet, for systems without a demo chain. */
const ANY_WALLET = '0x52908400098527886E0F7030069857D2E4169EE7';

/** From a new app to its first check; both the approval and the check are noticed without a
 * reload. */
export function Quickstart() {
  const { app, clientId, base, reload } = useApp();
  const options = useResource('GET /api/try-options', {});
  const { value: newest } = useResource('GET /api/apps/:clientId', { clientId }, {}, isApprovedApp);
  const { value: page } = useResource(
    'GET /api/apps/:clientId/checks',
    { clientId },
    { limit: 1 },
    ({ checks }) => checks.length > 0,
  );
  const first = page?.checks[0];
  const isApproved = isApprovedApp(app);
  useEffect(() => {
    if (newest && isApprovedApp(newest) && !isApproved) reload();
  }, [newest]);
  return html`
    <${PageHead} title="Quickstart"><p class="sub">Three steps to the first verdict.</p><//>
    <${Step} number="1" title="Get the scope" isDone=${isApproved}><${ScopeStep} /><//>
    <${Step} number="2" title="Send a check" isDone=${first !== undefined}>
      ${loaded(options, (value) => html`<${Sample} ...${value} />`)}
    <//>
    <${Step} number="3" title="Read the answer" isDone=${first !== undefined}>
      <p class="prose" role="status">${
        first
          ? html`Your first check has arrived: <a href=${`${base}/checks/${encodeURIComponent(first.requestId)}`}>see its result</a>.`
          : 'Waiting for the first check of this app. This page updates without a reload.'
      }</p>
      <p class="prose"><code>granted: true</code> means: give the role. <code>granted: false</code> means: take it away. A rule that is
        only in <code>errors</code> could not be read: change nothing.</p>
    <//>
  `;
}

const isApprovedApp = ({ scope }: App) => scope.state === 'approved';

const Step = ({ number, title, isDone, children }) => html`<${Card}
  title=${html`${number}. ${title} ${isDone && html`<${Badge} tone="good">Done<//>`}`}>${children}<//>`;

function ScopeStep() {
  const { app, clientId, base, reload } = useApp();
  const { account } = useSession();
  const { state } = app.scope;
  if (state === 'approved') return html`<p class="prose">This app may make checks.</p>`;
  if (account.operator)
    return html`<p class="prose">You are an operator, so you can approve your own app.</p>
      <div class="actions"><${SendButton} class="primary" said="Approved" onDone=${reload}
        send=${sends('POST /api/operator/apps/:clientId/approve', { clientId })}>Approve this app<//></div>`;
  return html`<p class="prose">${
    state === 'requested'
      ? 'Your request is with the operators. This page shows their decision without a reload.'
      : html`<a href=${`${base}/scope`}>Request the scope</a> with a sentence on what you are building.`
  }</p>`;
}

function Sample({ gatewayUrl, chains, demo }: Answer<'GET /api/try-options'>) {
  const apiKey = keptKeys.get(useApp().clientId);
  const chainId = demo?.chainId ?? chains[0]?.chainId ?? 1;
  const rules = [{ type: 'NATIVE', chainId, minToken: '1', roleId: 'funded' }];
  const text = `curl -s ${gatewayUrl}/access-control/check-roles \\
  -H 'x-api-key: ${apiKey ?? 'YOUR_API_KEY'}' \\
  -H 'content-type: application/json' \\
  -d '${JSON.stringify({ account: demo?.holder ?? ANY_WALLET, rules }, null, 2)}'`;
  return html`
    ${!apiKey && html`<p class="prose">Replace <code>YOUR_API_KEY</code> with a key of this app. A key is shown only when it is made.</p>`}
    <${Code} note="curl" text=${text} what="Sample" label="Sample" />
    <p class="hint">In TypeScript and Python: <a href="/docs/quickstart">quickstart of the documentation</a>.</p>
  `;
}
