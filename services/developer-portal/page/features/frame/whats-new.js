import { html, useEffect, useState } from '../../lib/html.js';
import { PageHead } from '../../ui/page-head.js';
import { Card, Loaded } from '../../ui/states.js';
import { readChangelog } from './read-changelog.js';

/** The project's changelog, as it is in the repository. */
export function WhatsNew() {
  const [resource, setResource] = useState({});
  const read = async () => {
    setResource({});
    const failed = { error: new Error('The changes could not be read.'), reload: () => void read() };
    const response = await fetch('/assets/changelog.md').catch(() => undefined);
    setResource(response?.ok ? { value: readChangelog(await response.text()) } : failed);
  };
  useEffect(() => void read(), []);
  return html`
    <${PageHead} title="What’s new"><p class="sub">Every change of this service that developers and operators notice.</p><//>
    <${Loaded} resource=${resource}>${(parts) => parts.map((part) => html`<${Part} key=${part.title} ...${part} />`)}<//>
  `;
}

function Part({ title, entries }) {
  return html`<${Card} title=${title}>
    <ul class="changes">${entries.map((pieces, place) => html`<li key=${place}>${pieces.map(draw)}</li>`)}</ul>
  <//>`;
}

function draw({ kind, text, href }) {
  if (kind === 'code') return html`<code class="break">${text}</code>`;
  if (kind === 'strong') return html`<strong>${text}</strong>`;
  if (kind === 'em') return html`<em>${text}</em>`;
  if (kind === 'link') return html`<a href=${href} target="_blank" rel="noopener noreferrer">${text}</a>`;
  return text;
}
