import { html, useEffect, useState } from '../core/html.js';
import { CopyButton } from '../parts/copy.js';
import { PageHead } from '../parts/page-head.js';
import { Segments } from '../parts/segments.js';
import { Card } from '../parts/states.js';

/** The files are run by the project's tests as they stand. */
const SNIPPETS = {
  node: ['Node', 'verify.mjs', 'npm install standardwebhooks'],
  python: ['Python', 'verify.py', 'pip install standardwebhooks'],
  go: ['Go', 'verify.go', 'Standard library alone'],
};

/** How to verify a webhook, in three languages. */
export function Snippets() {
  const [chosen, setChosen] = useState('node');
  const [texts, setTexts] = useState({});
  const [, file, note] = SNIPPETS[chosen];
  useEffect(() => {
    if (texts[file] !== undefined) return;
    void fetch(`/assets/snippets/${file}`)
      .then((response) => (response.ok ? response.text() : Promise.reject(new Error())))
      .catch(() => 'This snippet could not be loaded. Please reload the page.')
      .then((text) => setTexts((before) => ({ ...before, [file]: text })));
  }, [file]);
  const text = texts[file] ?? '';
  const options = Object.entries(SNIPPETS).map(([value, [name]]) => [value, name]);
  return html`
    <${PageHead} title="Snippets"><p class="sub">Verify what arrives at your callback URL before you act on it.</p><//>
    <${Card} title="Verify a signature"
      aside=${html`<${Segments} label="Language" options=${options} value=${chosen} onChange=${setChosen} />`}>
      <div class="code-head"><code>${note}</code><${CopyButton} text=${text} what="Snippet" /></div>
      <pre class="code" tabindex="0" aria-label=${`Snippet for ${SNIPPETS[chosen][0]}`}>${text}</pre>
    <//>
    <${Card} title="What to keep in mind">
      <ul class="prose">
        <li>Verify the <strong>raw bytes</strong> of the body; parse afterwards.</li>
        <li>Answer with 2xx within 15 seconds and work later.</li>
        <li>A message may come twice: remember its <code>webhook-id</code>.</li>
        <li>A role that is missing from <code>roles</code> could not be read. Leave it as it is; it is not a “no”.</li>
      </ul>
    <//>
  `;
}
