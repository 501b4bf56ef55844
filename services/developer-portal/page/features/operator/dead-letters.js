import { formatCount } from '../../lib/format.js';
import { html } from '../../lib/html.js';
import { useResource } from '../../lib/use-resource.js';
import { PageHead } from '../../ui/page-head.js';
import { Card, Loaded } from '../../ui/states.js';

/** The number of dead-lettered records of each topic. The admin command resends or drops them. */
export function DeadLetters() {
  const letters = useResource('/api/operator/dead-letters');
  return html`
    <${PageHead} title="Dead-lettered records" aside=${html`<button type="button" onClick=${letters.reload}>Refresh</button>`}>
      <p class="sub">Records that could not be processed. List them with <code>npm run admin -- dead-letter list TOPIC</code>.</p>
    <//>
    <${Loaded} resource=${letters}>${(list) => html`<${Card}>${
      list.every(({ count }) => count === 0) &&
      html`<p class="notice good">No topic has dead-lettered records.</p>`
    }<div class="scroll" tabindex="0" role="region" aria-label="Dead-lettered records by topic"><table>
      <thead><tr><th scope="col">Topic</th><th scope="col" class="number">Waiting</th></tr></thead>
      <tbody>${list.map(({ topic, count }) => html`<tr key=${topic}><th scope="row"><code>${topic}</code></th><td class="number">${formatCount(count)}</td></tr>`)}</tbody>
    </table></div><//>`}<//>
  `;
}
