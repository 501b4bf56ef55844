import { ask } from '../../lib/api.js';
import { formatPlural } from '../../lib/format.js';
import { html, useState } from '../../lib/html.js';
import { useResource } from '../../lib/use-resource.js';
import { Confirm } from '../../ui/confirm.js';
import { Badge, Card, Loaded, Time } from '../../ui/states.js';
import { toast } from '../../ui/toasts.js';

/** Where the account is signed in, and the means to end any of it. */
export function Sessions() {
  const sessions = useResource('/api/sessions');
  const [ending, setEnding] = useState(undefined);
  const others = sessions.value?.filter(({ current }) => !current).length ?? 0;
  const done = (text) => () => {
    setEnding(undefined);
    toast(text);
    sessions.reload();
  };
  const close = () => setEnding(undefined);
  return html`<${Card} title="Sessions" aside=${
    others > 0 &&
    html`<button type="button" class="danger-quiet" onClick=${() => setEnding('others')}>End all others</button>`
  }>
    <${Loaded} resource=${sessions}>${(list) =>
      html`<ul class="rows">${list.map((one) => html`<${Row} key=${one.sessionId} data=${one} onEnd=${() => setEnding(one)} />`)}</ul>`}<//>
    ${
      ending === 'others' &&
      html`<${Confirm} title="End all other sessions?" action="End sessions" onClose=${close} onDone=${done('Other sessions ended')}
        send=${() => ask('POST', '/api/sessions/end-others')}>
        <p>${formatPlural(others, 'session')} must sign in again. Change your password as well if somebody else may know it.</p>
      <//>`
    }
    ${
      ending?.sessionId &&
      html`<${Confirm} title="End this session?" action="End session" onClose=${close} onDone=${done('Session ended')}
        send=${() => endSession(ending)}>
        <p>${ending.browser} at ${ending.address} must sign in again.</p>
      <//>`
    }
  <//>`;
}

/** A session that ended meanwhile is ended. */
const endSession = ({ sessionId }) =>
  ask('DELETE', `/api/sessions/${encodeURIComponent(sessionId)}`).catch((error) => {
    if (error.code !== 'not-found') throw error;
  });

const Row = ({ data: { browser, address, startedAt, usedAt, current }, onEnd }) => html`<li>
  <div class="grow">
    <p class="row-title break">${browser} ${current && html`<${Badge} tone="good">This session<//>`}</p>
    <p class="sub break">${address}</p>
  </div>
  <p class="sub facts"><span>Used <${Time} at=${usedAt} /></span><span>Began <${Time} at=${startedAt} /></span></p>
  ${
    !current &&
    html`<div class="row-actions"><button type="button" class="danger-quiet" aria-label=${`End the session of ${browser} at ${address}`}
      onClick=${onEnd}>End</button></div>`
  }
</li>`;
