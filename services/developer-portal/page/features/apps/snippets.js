import { html, useState } from '../../lib/html.js';
import { useRead } from '../../lib/resources.js';
import { Code } from '../../ui/copy.js';
import { Card, loaded, PageHead } from '../../ui/page.js';
import { Segments } from '../../ui/values.js';

/** The project's tests run these files unchanged. */
const SNIPPETS = {
  node: {
    name: 'Node',
    needs: 'npm install standardwebhooks',
    verify: 'verify.mjs',
    fold: 'fold-roles.mjs',
    proofNeeds: 'npm install jose; @rolecall/client has verifyProof',
    proof: 'verify-proof.mjs',
  },
  python: {
    name: 'Python',
    needs: 'pip install standardwebhooks',
    verify: 'verify.py',
    fold: 'fold_roles.py',
    proofNeeds: "pip install 'PyJWT[crypto]'",
    proof: 'verify_proof.py',
  },
  go: {
    name: 'Go',
    needs: 'Only the standard library',
    verify: 'verify.go',
    fold: 'fold_roles.go',
    proofNeeds: 'go get github.com/go-jose/go-jose/v4',
    proof: 'verify_proof.go',
  },
};

/** How to ask, verify a webhook, fold its roles and verify a proof, in three languages. */
export function Snippets() {
  const [chosen, setChosen] = useState(/** @type {keyof typeof SNIPPETS} */ ('node'));
  const { name, needs, verify, fold, proofNeeds, proof } = SNIPPETS[chosen];
  const options = Object.entries(SNIPPETS).map(([value, snippet]) => [value, snippet.name]);
  return html`
    <${PageHead} title="Snippets"
      aside=${html`<${Segments} label="Language" options=${options} value=${chosen} onChange=${setChosen} />`}>
      <p class="sub">Verify each message at your callback URL before you act on it. All requests and answers
        are in the <a href="/docs">API documentation</a>.</p><//>
    ${
      chosen === 'node' &&
      html`<${Card} title="Check with the client library">
      <p class="prose">It retries without making a second check, gates routes (<code>requireRole</code>) and verifies
        webhooks and proofs.</p>
      <${Snippet} file="check.mjs" note="npm install @rolecall/client" language=${name} />
    <//>`
    }
    <${Card} title="Verify a signature"><${Snippet} key=${verify} file=${verify} note=${needs} language=${name} /><//>
    <${Card} title="Combine the rules of a role">
      <p class="prose">A result has one entry per rule. If several rules name one role, combine their entries
        before you act.</p>
      <${Snippet} key=${fold} file=${fold} note="For polled and sync results too" language=${name} />
    <//>
    <${Card} title="Verify a signed verdict">
      <p class="prose">A check with <code>proof: true</code> has a <code>proof</code>, which another service verifies by
        the keys at <code>/.well-known/jwks.json</code>.</p>
      <${Snippet} key=${proof} file=${proof} note=${proofNeeds} language=${name} />
    <//>
    <${Card} title="What to keep in mind">
      <ul class="prose">
        <li>Verify the <strong>raw bytes</strong> of the body; parse afterwards.</li>
        <li>Answer with 2xx within 15 seconds; process the message afterwards.</li>
        <li>A message may come twice: remember its <code>webhook-id</code>.</li>
        <li>A role that is only in <code>errors</code> could not be read. Change nothing; it is not a “no”.</li>
      </ul>
    <//>
  `;
}

/** @param {{ file: string, note: string, language: string }} props */
function Snippet({ file, note, language }) {
  const text = useRead(file, async () => {
    const response = await fetch(`/assets/snippets/${file}`);
    if (!response.ok) throw new Error('This snippet could not be loaded.');
    return response.text();
  });
  return loaded(
    text,
    (value) =>
      html`<${Code} note=${html`<code>${note}</code>`} text=${value} what=${file} label=${`${file}, for ${language}`} />`,
  );
}
